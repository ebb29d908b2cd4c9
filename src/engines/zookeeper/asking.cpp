#include "engines/zookeeper/asking.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::zookeeper {
namespace {

using namespace std::chrono_literals;

/// Nodes that vanish while we use them are made again, but not for ever.
constexpr int tries_most = 8;

}  // namespace

void asking::begin() {
  step first = &asking::make;
  {
    const std::lock_guard guard{at_.table.mutex};
    const connection::life life = at_.wire.now();
    if (mine_->session != life.session) {
      mine_->session = life.session;
      mine_->sent = false;
      mine_->node.clear();
      mine_->leases.clear();
      mine_->first = {};
      mine_->guarded = false;
      mine_->was_held = false;
    }
    number_ = ++mine_->ask;
    mine_->now = standing::phase::asking;
    mine_->go_on = nullptr;
    if (!mine_->node.empty() || !mine_->leases.empty()) {
      first = &asking::look;
    } else if (mine_->sent) {
      first = &asking::find;
    }
  }
  (this->*first)();
}

bool asking::over() const { return mine_->ask != number_; }

void asking::send(std::vector<sent> all) {
  std::vector<connection::asked> requests;
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
  at_.wire.send(requests);
}

void asking::make_parents() {
  std::vector<request> all = parents();
  std::vector<sent> requests;
  for (request& one : all) requests.push_back({std::move(one), nullptr});
  requests.back().then = [this](response& said) {
    if (!said.ok() && !said.exists_already() && !said.no_node()) {
      return fail(said, "create " + mine_->parent);
    }
    start_over();
  };
  send(std::move(requests));
}

void asking::start_over() {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = false;
    mine_->node.clear();
    mine_->leases.clear();
    mine_->first = {};
  }
  if (++tries_ > tries_most) {
    throw make_error(errc::unreachable,
                     "'" + name().str() + "': its node was removed again and again");
  }
  make();
}

void asking::take_node(const std::string& path, std::int64_t born) {
  const auto node = read_node(path.substr(path.rfind('/') + 1));
  const fence first = fence_of(born, name().view());
  const std::lock_guard guard{at_.table.mutex};
  mine_->node = path;
  mine_->sequence = node ? node->sequence : 0;
  mine_->first = first;
}

void asking::hold() {
  std::optional<seam::grant> granted;
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    granted = at_.grant_of(*mine_);
    if (granted) {
      at_.table.unwatch(mine_);
      mine_->now = standing::phase::held;
      mine_->was_held = true;
      mine_->since = at_.clock.now();
      if (std::exchange(mine_->expects_news, false)) at_.wire.expect_news(-1);
    }
  }
  if (!granted) {
    return fail(make_error(errc::unreachable, at_.wire.shown() + ": the session has ended"));
  }
  tell(seam::answer{.result = seam::ask_result::granted, .granted = *granted, .look_after = {}});
}

/// The next look after this one: rarely, for a watch is not lost while its connection lives.
void asking::in_line(time_point now) {
  const duration look_after = std::max<duration>(at_.wire.timeout() / 3, 100ms);
  bool missed = false;
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    missed = mine_->watched.empty();  // it fired meanwhile
    if (!missed) {
      mine_->now = standing::phase::waiting;
      mine_->looked = now;
    }
  }
  if (missed) return look();
  tell(seam::answer{
      .result = seam::ask_result::in_line, .granted = {}, .look_after = look_after});
}

void asking::busy() {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
  }
  const auto self = shared_from_this();
  leave(at_, mine_, nullptr);
  tell(seam::answer{.result = seam::ask_result::busy, .granted = {}, .look_after = {}});
}

void asking::refuse(const error& why) {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
  }
  leave(at_, mine_, nullptr);
  tell(why);
}

void asking::fail(const error& why) {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    ++mine_->ask;
    if (std::exchange(mine_->expects_news, false)) at_.wire.expect_news(-1);
  }
  tell(why);
}

void asking::tell(const outcome& what) {
  if (const told then = std::exchange(then_, nullptr)) then(what);
}

}  // namespace crosslock::zookeeper
