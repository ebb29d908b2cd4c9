// Claims, as far as somebody asks about them: what becomes of them by itself is in engine_news.cpp.
//
// Nothing here touches a member after its last call of engine_events: the core may close the engine
// then.
#include "session/engine.hpp"

#include "engine/own_text.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace crosslock::session {

using namespace std::chrono_literals;

engine::engine(const std::function<parts(session_listener&)>& make, seam::engine_events& events,
               seam::clock& clock, log say)
    : events_{events},
      clock_{clock},
      say_{std::move(say)},
      parts_{make(*this)},
      environment_{.wire = *parts_.wire, .table = table_, .words = *parts_.words, .clock = clock} {}

void engine::forget_staying() noexcept {
  const seam::lock_guard guard{table_.mutex};
  for (const standing_ref& one : table_.all()) one->go_on = nullptr;
}

standing_ref engine::stand(const seam::claim& claim) {
  const seam::lock_guard guard{table_.mutex};
  standing_ref mine = table_.find(claim.owner);
  if (!mine || mine->now == standing::phase::leaving) {
    const standing_ref before = std::exchange(mine, std::make_shared<standing>());
    if (before) {  // what is left of it, if anything, is found and used
      mine->session = before->session;
      mine->sent = before->sent;
      table_.forget(before);
    }
    mine->claim = claim;
    environment_.words.locate(*mine);
    table_.add(mine);
  }
  // What does not change is not written, for it is read without the mutex.
  if (mine->claim.lease != claim.lease) mine->claim.lease = claim.lease;
  if (mine->claim.wait != claim.wait) mine->claim.wait = claim.wait;
  if (mine->claim.beside != claim.beside) mine->claim.beside = claim.beside;
  return mine;
}

seam::answer engine::ask(const seam::claim& claim, time_point give_up) {
  refuse(claim);
  environment_.wire.require(give_up);
  // Behind an outage a grant would be worth nothing until the session is proven alive again.
  // But only for a while: the server may have more to say than silence.
  const time_point now = clock_.now();
  const tree::life life = environment_.wire.now();
  environment_.wire.await_proof(now - life.timeout * 3 / 4, now + (give_up - now) / 2);
  struct under_way {
    tree::flight way;
    std::optional<asking::outcome> result;
  };
  const auto mine = std::make_shared<under_way>();
  mine->way.missing.store(1);
  const standing_ref here = stand(claim);
  way_of(here, [mine, &clock = clock_](const asking::outcome& result) {
    const auto* why = std::get_if<error>(&result);
    mine->result = why != nullptr ? asking::outcome{seam::with_own_text(*why)} : result;
    mine->way.missing.store(0, std::memory_order_release);
    mine->way.word.fetch_add(1);
    clock.unpark(mine->way.word);
  })->begin();
  const bool may_stay = !claim.wait && claim.mode == claim_mode::permit;
  while (may_stay &&
         !environment_.wire.await_so_far(mine->way, std::min(give_up, end_of_stay(here)))) {
    if (clock_.now() >= give_up || environment_.wire.closing()) break;
    end_stay(here);
  }
  if (!environment_.wire.await(mine->way, give_up)) {
    throw environment_.words.make_error(
        errc::timed_out, environment_.wire.shown() + " did not answer in time", true);
  }
  if (const auto* why = std::get_if<error>(&*mine->result)) throw seam::with_own_text(*why);
  return std::get<seam::answer>(*mine->result);
}

time_point engine::end_of_stay(const standing_ref& one) const {
  const time_point now = clock_.now();
  const seam::lock_guard guard{table_.mutex};
  return one->go_on ? std::max(one->stays_until, now) : now + a_moment;
}

/// A try goes that has stayed for a moment behind one that does not move.
void engine::end_stay(const standing_ref& one) {
  const time_point now = clock_.now();
  std::function<void(bool)> go_on;
  {
    const seam::lock_guard guard{table_.mutex};
    if (now >= one->stays_until) go_on = std::exchange(one->go_on, nullptr);
  }
  if (go_on) go_on(false);
}

/// The core notices by itself when no answer comes.
void engine::ask_async(const seam::claim& claim, time_point /*give_up*/) {
  refuse(claim);
  // As above; but nobody waits here: whoever has time asks again in a moment.
  const tree::life life = environment_.wire.now();
  const bool proven = life.proven && *life.proven > clock_.now() - life.timeout * 3 / 4;
  if (claim.wait && life.session != 0 && !proven) {
    throw environment_.words.make_error(
        errc::unreachable, environment_.wire.shown() + ": the session is not known to live");
  }
  const standing_ref mine = stand(claim);
  bool more = false;
  {
    const seam::lock_guard guard{table_.mutex};
    more = !std::exchange(mine->expects_news, true);
  }
  if (more) environment_.wire.expect_news(1);
  way_of(mine, [this, claim](const asking::outcome& result) {
    const seam::claim_key key{*claim.name, claim.owner};
    if (const auto* why = std::get_if<error>(&result)) {
      return events_.failed(key, *why);
    }
    events_.answered(claim, std::get<seam::answer>(result));
  })->begin();
}

/// A removal that somebody waits for.
struct engine::departure {
  tree::flight first;
  response said;
  bool goes_on = false;  ///< the first try was cut off: the next connection tries again
  tree::flight second;
  response said_then;
};

void engine::land(tree::flight& way) noexcept {
  way.missing.store(0, std::memory_order_release);
  way.word.fetch_add(1);
  clock_.unpark(way.word);
}

/// A moment for a new connection, and for one server that does not answer; without servers nobody
/// is kept waiting.
time_point engine::end_of_patience(time_point give_up) const {
  return std::min(give_up, clock_.now() + std::max<duration>(1s, environment_.wire.timeout() / 4));
}

void engine::hear_departure(const standing_ref& one, const std::shared_ptr<departure>& mine,
                            const response& said) {
  mine->said = said;
  if (said.cut_off()) {
    const seam::lock_guard guard{table_.mutex};
    if (one->now == standing::phase::leaving && table_.find(one->claim.owner) == one) {
      one->left_later = [this, mine](response& again) {
        // The first try may have done it, or somebody who broke the lock: not known.
        mine->said_then = again.no_node() ? mine->said : again;
        land(mine->second);
      };
      mine->goes_on = true;
    }
  }
  land(mine->first);
}

response engine::leave_and_wait(const standing_ref& one, time_point give_up) {
  try {
    environment_.wire.require(end_of_patience(give_up));
  } catch (const error&) {
    leave(environment_, one, nullptr);  // as soon as there is a connection
    throw;
  }
  const auto mine = std::make_shared<departure>();
  mine->first.missing.store(1);
  mine->second.missing.store(1);
  leave(environment_, one,
        [this, one, mine](const response& said) { hear_departure(one, mine, said); });
  if (!environment_.wire.await(mine->first, give_up)) {
    throw environment_.words.make_error(
        errc::timed_out, environment_.wire.shown() + " did not answer in time", true);
  }
  if (!mine->goes_on) return mine->said;
  const bool landed = environment_.wire.await(mine->second, end_of_patience(give_up));
  return landed ? mine->said_then : mine->said;
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  standing_ref mine;
  {
    const seam::lock_guard guard{table_.mutex};
    mine = table_.find(claim.owner);
  }
  if (!mine) return;
  const response said = leave_and_wait(mine, give_up);
  if (!said.ok() && !said.no_node()) {
    throw environment_.words.error_in(said, "leave the line of '" + claim.name->str() + "'");
  }
}

standing_ref engine::find_held(const seam::grant& grant) {
  const seam::lock_guard guard{table_.mutex};
  const standing_ref mine = table_.find(grant.owner);
  return mine && mine->first == grant.first && mine->was_held ? mine : nullptr;
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  const standing_ref mine = find_held(grant);
  if (!mine) return seam::release_answer::not_owner;
  const response said = leave_and_wait(mine, give_up);
  if (said.ok()) return seam::release_answer::released;
  if (said.no_node()) return seam::release_answer::not_owner;
  throw environment_.words.error_in(said, "release '" + grant.name->str() + "'");
}

/// The answer is read by whoever drives next. Without a connection it is removed by the next one of
/// this session, before anybody asks.
void engine::post_release(std::span<const seam::parting_ref> batch, time_point) noexcept {
  for (const seam::parting_ref& one : batch) {
    const standing_ref mine = find_held(one->leaving());
    if (!mine) {
      one->left(seam::release_answer::not_owner);
      continue;
    }
    const auto told = [one](const response& said) {
      std::optional<seam::release_answer> answer;
      if (said.ok()) answer = seam::release_answer::released;
      if (said.no_node()) answer = seam::release_answer::not_owner;
      one->left(answer);
    };
    try {
      leave(environment_, mine, told);
    } catch (const std::bad_alloc&) {
      one->left(std::nullopt);
    }
  }
}

/// Its heartbeat keeps the session alive, and with it whatever is held: there is nothing to renew,
/// only to share.
void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  using result = seam::renewal::result;
  for (seam::renewal& one : batch) {
    if (one.detach) {
      throw environment_.words.make_error(errc::unsupported,
                                          "a hold ends with its session: it cannot be detached");
    }
    if (!one.share) continue;
    try {
      share(one, give_up);
    } catch (const error&) {
      // It is not shared yet, and says unknown. The others have nothing to do with that.
    }
  }
  const tree::life life = environment_.wire.now();
  // Nothing has been proven of late: the session may go on, but nobody knows.
  const time_point lately = clock_.now() - life.timeout / 2;
  const seam::lock_guard guard{table_.mutex};
  for (seam::renewal& one : batch) {
    const standing_ref mine = table_.find(one.held.owner);
    const bool ours = mine && mine->now == standing::phase::held && mine->first == one.held.first;
    if (!ours || (life.session != 0 && mine->session != life.session)) {
      one.outcome = result::lost;
    } else if (!life.proven || (!one.share && *life.proven < lately)) {
      one.outcome = result::unknown;
    } else if (!one.share || mine->readers_node || mine->claim.mode == claim_mode::shared) {
      one.outcome = result::renewed;
      one.granted_lease = life.timeout;
      one.sent = *life.proven;
    }
  }
}

std::optional<seam::grant> engine::adopt(const seam::grant&, const seam::claim&, time_point) {
  throw environment_.words.make_error(errc::unsupported,
                                      "a hold ends with its session: there are no receipts");
}

void engine::await_news(seam::clock&, seam::park_word& word, std::uint32_t expected,
                        time_point until) {
  environment_.wire.await_news(word, expected, until);
}

void engine::rouse(seam::clock&, seam::park_word& word) noexcept { environment_.wire.rouse(word); }

}  // namespace crosslock::session
