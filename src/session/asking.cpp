#include "session/asking.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::session {
namespace {

using namespace std::chrono_literals;

/// Nodes that vanish while we use them are made again, but not for ever.
constexpr int tries_most = 8;

}  // namespace

void asking::begin() {
  step first = &asking::make;
  {
    const seam::lock_guard guard{at_.table.mutex};
    const tree::life life = at_.wire.now();
    if (mine_->session != life.session) {
      mine_->now = standing::phase::asking;
      mine_->session = life.session;
      mine_->sent = false;
      mine_->node.clear();
      mine_->leases.clear();
      mine_->first = {};
      mine_->guarded = false;
      mine_->was_held = false;
      mine_->readers_node = false;
      mine_->replacing = false;
      mine_->upgrade_judged = false;
    }
    // Granted meanwhile: what is held stays held, and is watched.
    if (mine_->now == standing::phase::held) first = &asking::hold;
    number_ = ++mine_->ask;
    mine_->asked = at_.clock.now();
    if (first != &asking::hold) mine_->now = standing::phase::asking;
    mine_->go_on = nullptr;
    if (first == &asking::hold) {
      // Answered at once.
    } else if (mine_->replacing) {
      first = &asking::find;
    } else if (!mine_->node.empty() || !mine_->leases.empty()) {
      first = &asking::look;
    } else if (mine_->sent) {
      first = &asking::find;
    }
  }
  try {
    (this->*first)();
  } catch (const error&) {
    const seam::lock_guard guard{at_.table.mutex};
    if (std::exchange(mine_->expects_news, false)) at_.wire.expect_news(-1);
    // Nothing went out: what is there was there before.
    if (first == &asking::make) at_.table.forget(mine_);
    throw;
  }
}

bool asking::over() const { return told_ || mine_->ask != number_; }

void asking::send(std::vector<sent> all) {
  std::vector<tree::asked> requests;
  requests.reserve(all.size());
  for (sent& one : all) {
    requests.push_back({std::move(one.what),
                        [self = shared_from_this(), then = std::move(one.then)](response& said) {
                          if (!then) return;
                          try {
                            then(said);
                          } catch (const error& why) {
                            self->fail(why);
                          }
                        }});
  }
  session_number session = 0;
  {
    const seam::lock_guard guard{at_.table.mutex};
    session = mine_->session;
  }
  try {
    if (session == 0) {
      throw at_.words.make_error(errc::unreachable, at_.wire.shown() + ": there is no session yet");
    }
    at_.wire.send(requests, session);
  } catch (const error& why) {
    bool may_stand = false;
    {
      const seam::lock_guard guard{at_.table.mutex};
      may_stand = mine_->sent;
    }
    // Its place is kept for the next try, or else to be given up by whoever asked.
    if (!why.retryable() || !may_stand) throw;
    throw at_.words.make_error(errc::unreachable, at_.wire.shown() + ": the connection is lost",
                               true);
  }
}

void asking::make_parents() {
  std::vector<request> all = at_.words.parents_of(*mine_);
  std::vector<sent> requests;
  // Where the last one cannot be made, the first that could not is the reason. Those above need
  // not be ours to make when they are there already.
  const auto failure = std::make_shared<response>();
  for (request& one : all) {
    requests.push_back({std::move(one), [failure](response& said) {
                          const bool fine = said.ok() || said.exists_already();
                          if (!fine && failure->ok()) *failure = said;
                        }});
  }
  requests.back().then = [this, failure](response& said) {
    const bool made = said.ok() || said.exists_already();
    // Containers may vanish, empty, while others are made below them.
    const bool vanished = said.no_node() && (failure->ok() || failure->no_node());
    if (!made && !vanished) return fail_below(mine_->name_path, failure->ok() ? said : *failure);
    go_on();
  };
  send(std::move(requests));
}

/// Behind make_parents: a node that stands already is not made twice.
void asking::go_on() {
  bool stands = false;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    stands = !mine_->node.empty();
  }
  if (!stands) return start_over();
  count_try();
  look();
}

void asking::count_try() {
  if (++tries_ <= tries_most) return;
  throw at_.words.make_error(errc::unreachable,
                             "'" + name().str() + "': its node was removed again and again");
}

void asking::start_over() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = false;
    mine_->node.clear();
    mine_->leases.clear();
    mine_->first = {};
    mine_->was_held = false;
    mine_->readers_node = false;
    mine_->replacing = false;
    mine_->guarded = false;
  }
  count_try();
  make();
}

void asking::take_node(const std::string& path, const node_facts& facts) {
  const seam::lock_guard guard{at_.table.mutex};
  at_.words.note_place(*mine_, path, facts);
}

void asking::hold() {
  std::optional<seam::grant> granted;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    if (mine_->node.empty() && mine_->leases.empty()) {
      throw at_.words.make_error(errc::unreachable,
                                 "'" + name().str() + "': its session has ended");
    }
    granted = at_.grant_of(*mine_);
    if (granted) {
      at_.table.unwatch(mine_);
      if (mine_->now != standing::phase::held) at_.table.hold(mine_, at_.clock.now());
      if (std::exchange(mine_->expects_news, false)) at_.wire.expect_news(-1);
    }
  }
  if (!granted) {
    return fail(
        at_.words.make_error(errc::unreachable, at_.wire.shown() + ": the session has ended"));
  }
  tell(seam::answer{.result = seam::ask_result::granted, .granted = *granted, .look_after = {}});
}

/// The next look after this one: rarely, for a watch is not lost while its connection lives.
void asking::in_line(time_point now) {
  const duration look_after = std::max<duration>(at_.wire.timeout() / 3, 100ms);
  bool missed = false;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    missed = mine_->watched.empty();  // it fired meanwhile
    if (!missed) {
      mine_->now = standing::phase::waiting;
      mine_->looked = now;
    }
  }
  if (missed) return look();
  tell(seam::answer{.result = seam::ask_result::in_line, .granted = {}, .look_after = look_after});
}

void asking::busy() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
  }
  // Whoever tries after this shall not find our try in its way.
  leave(at_, mine_, [self = shared_from_this()](response&) {
    self->tell(seam::answer{.result = seam::ask_result::busy, .granted = {}, .look_after = {}});
  });
}

/// A node that ends with a session lets nobody make children, and the server may say so as if it
/// were a matter of rights.
void asking::fail_below(const std::string& path, const response& said) {
  const error denied = at_.words.error_in(said, "create a node below " + path);
  if (denied.which() != errc::denied || path.empty()) return fail(denied);
  std::vector<sent> all;
  all.push_back({exists(path), [this, path, denied](response& there) {
                   const bool outlives = !there.ok() || there.facts.owner == 0;
                   fail(outlives ? denied : at_.words.error_below(path));
                 }});
  send(std::move(all));
}

void asking::refuse(const error& why) {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
  }
  leave(at_, mine_, nullptr);
  tell(why);
}

void asking::fail(const error& why) {
  bool leaves = false;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    ++mine_->ask;
    at_.table.unwatch(mine_);  // it may never have been set
    if (std::exchange(mine_->expects_news, false)) at_.wire.expect_news(-1);
    // Nobody withdraws what has failed for sure.
    leaves = mine_->sent && !why.outcome_unknown();
    if (!mine_->sent && !why.outcome_unknown()) at_.table.forget(mine_);
  }
  if (leaves) leave(at_, mine_, nullptr);
  tell(why);
}

void asking::tell(const outcome& what) {
  {
    const seam::lock_guard guard{at_.table.mutex};
    told_ = true;
  }
  if (const told then = std::exchange(then_, nullptr)) then(what);
}

}  // namespace crosslock::session
