// Claims, and what becomes of them. Inspection is in engine_look.cpp, cells in engine_cells.cpp.
//
// Nothing here touches a member after it has called turn with the last that it has to say: the core
// may close the engine then.
#include "engines/zookeeper/engine.hpp"

#include "engine/line_rule.hpp"
#include "engines/zookeeper/path.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::zookeeper {
namespace {

using namespace std::chrono_literals;

seam::traits traits_of(const preferences& how) {
  seam::traits all = offered;
  if (how.single) {
    all.shared = false;
    all.permits = false;
    all.first_come = false;
    all.tells_when_asked = false;
  }
  return all;
}

error gone(const lock_name& name) {
  return make_error(errc::lost, "'" + name.str() + "': its node was removed");
}

}  // namespace

engine::engine(connection_settings where, const preferences& how, std::string who, duration timeout,
               seam::turn& turn, seam::clock& clock, log say)
    : how_{how},
      timeout_{timeout},
      turn_{turn},
      clock_{clock},
      say_{std::move(say)},
      traits_{traits_of(how)},
      wire_{std::move(where), clock, *this},
      desk_{.wire = wire_,
            .table = table_,
            .clock = clock,
            .how = how.names,
            .single = how.single,
            .who = std::move(who)} {
  wire_.open(clock.now() + timeout);
  traits_.session = wire_.timeout();
}

engine::~engine() { close(); }

void engine::close() noexcept {
  wire_.close();
  const std::lock_guard guard{table_.mutex};
  for (const standing_ref& one : table_.all()) one->go_on = nullptr;
}

std::string engine::path_of_name(const lock_name& name) const {
  return path_of(wire_.root(), name);
}

void engine::refuse(const seam::claim& claim) const {
  seam::refuse_lease(offered, claim.lease);
  if (claim.mode == claim_mode::exclusive || (claim.mode == claim_mode::shared && traits_.shared) ||
      (claim.mode == claim_mode::permit && traits_.permits)) {
    return;
  }
  throw make_error(errc::unsupported, "strategy=single has neither readers nor permits");
}

standing_ref engine::stand(const seam::claim& claim) {
  const std::lock_guard guard{table_.mutex};
  standing_ref mine = table_.find(claim.owner);
  if (!mine || mine->now == standing::phase::leaving) {
    const standing_ref before = std::exchange(mine, std::make_shared<standing>());
    if (before) {  // what is left of it, if anything, is found and used
      mine->session = before->session;
      mine->sent = before->sent;
      table_.forget(before);
    }
    mine->place = path_of_name(*claim.name);
    mine->parent = claim.mode == claim_mode::permit ? mine->place + "/locks" : mine->place;
    mine->claim = claim;
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
  wire_.require(give_up);
  // Behind an outage a grant would be worth nothing until the session is proven alive again.
  // But only for a while: the server may have more to say than silence.
  const time_point now = clock_.now();
  const connection::life life = wire_.now();
  wire_.await_proof(now - life.timeout * 3 / 4, now + (give_up - now) / 2);
  struct under_way {
    connection::flight way;
    std::optional<asking::outcome> result;
  };
  const auto mine = std::make_shared<under_way>();
  mine->way.missing.store(1);
  const standing_ref here = stand(claim);
  asking::about(desk_, here, [mine, &clock = clock_](const asking::outcome& result) {
    mine->result = result;
    mine->way.missing.store(0, std::memory_order_release);
    mine->way.word.fetch_add(1);
    clock.unpark(mine->way.word);
  })->begin();
  const bool may_stay = !claim.wait && claim.mode == claim_mode::permit;
  while (may_stay && !wire_.await_so_far(mine->way, std::min(give_up, end_of_stay(here)))) {
    if (clock_.now() >= give_up || wire_.closing()) break;
    end_stay(here);
  }
  if (!wire_.await(mine->way, give_up)) {
    throw make_error(errc::timed_out, wire_.shown() + " did not answer in time", 0, true);
  }
  if (const auto* why = std::get_if<error>(&*mine->result)) throw error{*why};
  return std::get<seam::answer>(*mine->result);
}

time_point engine::end_of_stay(const standing_ref& one) const {
  const time_point now = clock_.now();
  const std::lock_guard guard{table_.mutex};
  return one->go_on ? std::max(one->stays_until, now) : now + a_moment;
}

/// A try goes that has stayed for a moment behind one that does not move.
void engine::end_stay(const standing_ref& one) {
  const time_point now = clock_.now();
  std::function<void(bool)> go_on;
  {
    const std::lock_guard guard{table_.mutex};
    if (now >= one->stays_until) go_on = std::exchange(one->go_on, nullptr);
  }
  if (go_on) go_on(false);
}

void engine::ask_async(const seam::claim& claim, time_point /*give_up*/) {
  refuse(claim);
  const standing_ref mine = stand(claim);
  bool more = false;
  {
    const std::lock_guard guard{table_.mutex};
    more = !std::exchange(mine->expects_news, true);
  }
  if (more) wire_.expect_news(1);
  asking::about(desk_, mine, [this, claim](const asking::outcome& result) {
    const seam::claim_key key{*claim.name, claim.owner};
    if (const auto* why = std::get_if<error>(&result)) {
      return turn_.failed(key, *why);
    }
    turn_.answered(key, std::get<seam::answer>(result));
  })->begin();
}

response engine::leave_and_wait(const standing_ref& one, time_point give_up) {
  struct under_way {
    connection::flight way;
    response said;
  };
  try {
    // A moment for a new connection; without servers nobody is kept waiting.
    wire_.require(std::min(give_up, clock_.now() + 1s));
  } catch (const error&) {
    leave(desk_, one, nullptr);  // as soon as there is a connection
    throw;
  }
  const auto mine = std::make_shared<under_way>();
  mine->way.missing.store(1);
  leave(desk_, one, [mine, &clock = clock_](response& said) {
    mine->said = said;
    mine->way.missing.store(0, std::memory_order_release);
    mine->way.word.fetch_add(1);
    clock.unpark(mine->way.word);
  });
  if (!wire_.await(mine->way, give_up)) {
    throw make_error(errc::timed_out, wire_.shown() + " did not answer in time", 0, true);
  }
  return mine->said;
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  standing_ref mine;
  {
    const std::lock_guard guard{table_.mutex};
    mine = table_.find(claim.owner);
  }
  if (!mine) return;
  const response said = leave_and_wait(mine, give_up);
  if (!said.ok() && !said.no_node()) {
    throw error_in(said, "leave the line of '" + claim.name->str() + "'", wire_.shown());
  }
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  standing_ref mine;
  {
    const std::lock_guard guard{table_.mutex};
    mine = table_.find(grant.owner);
    if (!mine || mine->first != grant.first || !mine->was_held) {
      return seam::release_answer::not_owner;
    }
  }
  const response said = leave_and_wait(mine, give_up);
  if (said.ok()) return seam::release_answer::released;
  if (said.no_node()) return seam::release_answer::not_owner;
  throw error_in(said, "release '" + grant.name->str() + "'", wire_.shown());
}

/// The session is kept alive by its heartbeat, however many locks it holds; here it is only looked
/// up how long that is proven for.
void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  using result = seam::renewal::result;
  const time_point began = clock_.now();
  for (seam::renewal& one : batch) {
    if (one.detach) {
      throw make_error(errc::unsupported, "a hold ends with its session: it cannot be detached");
    }
    if (!one.share) continue;
    try {
      share(one, give_up);
    } catch (const error&) {
      // It is not shared yet, and says unknown. The others have nothing to do with that.
    }
  }
  connection::life life = wire_.now();
  // What is proven lags behind by a tick and the time between heartbeats. When it lags more, the
  // next proof is worth waiting for.
  const duration usual = life.timeout / 2;
  const bool stale = life.session != 0 && (!life.proven || *life.proven < began - usual);
  if (stale) life = wire_.await_proof(began - usual, give_up);
  const bool proven = life.proven && *life.proven >= began - usual;
  const std::lock_guard guard{table_.mutex};
  for (seam::renewal& one : batch) {
    const standing_ref mine = table_.find(one.held.owner);
    const bool ours = mine && mine->now == standing::phase::held && mine->first == one.held.first;
    if (!ours || (life.session != 0 && mine->session != life.session)) {
      one.outcome = result::lost;
    } else if (life.session == 0 || !proven) {
      one.outcome = result::unknown;
    } else if (!one.share || mine->readers_place || mine->claim.mode == claim_mode::shared) {
      one.outcome = result::renewed;
      one.granted_lease = life.timeout;
      one.sent = *life.proven;
    }
  }
}

/// As Curator does it: a reader's node with the writer's number takes its place.
void engine::share(seam::renewal& item, time_point give_up) {
  standing_ref mine;
  std::string writer;
  std::string reader;
  {
    const std::lock_guard guard{table_.mutex};
    mine = table_.find(item.held.owner);
    if (!mine || mine->now != standing::phase::held || mine->first != item.held.first) return;
    if (mine->readers_place || mine->claim.mode != claim_mode::exclusive) return;
    writer = mine->node;
    table_.unguard(writer);  // its end will be our own doing
    mine->guarded = true;    // nor is it to be guarded anew meanwhile
    mine->replacing = true;
    reader = mine->parent + '/' + reader_in_place_of(how_.names, mine->claim.owner, mine->sequence);
  }
  const response said =
      wire_.call(transaction({{.what = change::kind::create,
                               .path = reader,
                               .data = desk_.inscription_of(*mine),
                               .life = node_life::ephemeral},
                              {.what = change::kind::erase, .path = writer, .data = {}}}),
                 give_up);
  bool done = said.ok();
  if (said.exists_already()) {  // an earlier try, whose answer was lost
    const response there = wire_.call(exists(reader), give_up);
    done = there.ok() && there.facts.owner == wire_.now().id;
  }
  if (!done && !said.no_node()) {
    throw error_in(said, "share '" + item.held.name->str() + "'", wire_.shown());
  }
  const std::lock_guard guard{table_.mutex};
  if (mine->now != standing::phase::held) return;
  table_.forget(mine);
  if (!done) {  // somebody has removed it
    mine->now = standing::phase::asking;
    return;
  }
  mine->node = reader;
  mine->readers_place = true;
  mine->replacing = false;
  mine->guarded = false;
  table_.add(mine);
}

std::optional<seam::grant> engine::adopt(const seam::grant&, const seam::claim&, time_point) {
  throw make_error(errc::unsupported, "a hold ends with its session: there are no receipts");
}

void engine::await_news(seam::clock&, seam::park_word& word, std::uint32_t expected,
                        time_point until) {
  wire_.await_news(word, expected, until);
}

void engine::rouse(seam::clock&, seam::park_word& word) noexcept { wire_.rouse(word); }

void engine::heard(const event& news) noexcept {
  std::vector<standing_ref> waiters;
  standing_ref holder;
  standing_ref listener;
  {
    const std::lock_guard guard{table_.mutex};
    waiters = table_.take_watchers(news.path);
    if (news.what == event::kind::erased) holder = table_.guarded(news.path);
    if (news.what == event::kind::children) listener = table_.take_listener(news.path);
    if (listener && listener->now != standing::phase::held) listener.reset();
  }
  if (listener) listen_behind(listener);
  for (const standing_ref& one : waiters) settle_waiter(one, news);
  if (holder) told_gone(holder, news.path);
  if (const auto cell = cell_at(wire_.root(), news.path)) turn_.cell_changed(*cell);
}

/// The event alone lets it in when it is known that nobody else stands before it.
void engine::settle_waiter(const standing_ref& waiter, const event& news) {
  std::optional<seam::grant> granted;
  std::function<void(bool)> go_on;
  {
    const std::lock_guard guard{table_.mutex};
    go_on = std::exchange(waiter->go_on, nullptr);
    if (waiter->now != standing::phase::waiting && !go_on) return;  // it is looking anyway
    const bool alone = (news.what == event::kind::erased && waiter->alone_before) ||
                       (news.what == event::kind::written && waiter->word_counts);
    waiter->asked = clock_.now();
    if (alone && !go_on) granted = desk_.grant_of(*waiter);
    if (granted) {
      waiter->now = standing::phase::held;
      waiter->was_held = true;
      waiter->since = clock_.now();
      if (std::exchange(waiter->expects_news, false)) wire_.expect_news(-1);
    }
  }
  if (go_on) return go_on(true);
  if (granted) return turn_.granted(*granted);
  turn_.look_again({*waiter->claim.name, waiter->claim.owner});
}

void engine::told_gone(const standing_ref& holder, const std::string& path) {
  {
    const std::lock_guard guard{table_.mutex};
    const bool present =
        holder->node == path || std::ranges::find(holder->leases, path) != holder->leases.end();
    if (holder->now != standing::phase::held || holder->replacing || !present) return;
    if (holder->leases.size() > 1) {
      holder->now = standing::phase::leaving;  // the rest of its permits goes too
    } else {
      table_.forget(holder);
      holder->now = standing::phase::asking;
    }
  }
  if (holder->leases.size() > 1) leave(desk_, holder, nullptr);
  turn_.failed({*holder->claim.name, holder->claim.owner}, gone(*holder->claim.name));
}

void engine::suspended(const error& why) noexcept {
  if (say_) {
    say_(log_level::warning,
         std::string{why.what()} + "; suspended: holds stay valid until their deadlines");
  }
  turn_.suspended(why);
}

void engine::resumed(session_number session) noexcept {
  std::vector<standing_ref> waiting;
  std::vector<standing_ref> leaving;
  {
    const std::lock_guard guard{table_.mutex};
    for (const standing_ref& one : table_.all()) {
      if (one->now == standing::phase::leaving) leaving.push_back(one);
      if (one->now == standing::phase::waiting) {
        one->looked = {};  // news may have been missed
        waiting.push_back(one);
      }
    }
  }
  for (const standing_ref& one : leaving) leave(desk_, one, nullptr);
  for (const standing_ref& one : waiting) {
    turn_.look_again({*one->claim.name, one->claim.owner});
  }
  for (const seam::name_ref& cell : cells_.all(clock_.now())) turn_.cell_changed(*cell);
  if (session > 0) turn_.resumed();
}

void engine::ended(session_number session) noexcept {
  std::vector<standing_ref> lost;
  std::vector<standing_ref> waiting;
  std::vector<std::function<void(bool)>> staying;
  {
    const std::lock_guard guard{table_.mutex};
    for (const standing_ref& one : table_.all()) {
      if (one->session != session) continue;
      table_.unwatch(one);
      if (one->go_on) staying.push_back(std::exchange(one->go_on, nullptr));
      if (one->now == standing::phase::waiting) waiting.push_back(one);
      if (one->now == standing::phase::held) lost.push_back(one);
      if (one->now == standing::phase::held || one->now == standing::phase::leaving) {
        table_.forget(one);
        one->now = standing::phase::asking;
      }
    }
  }
  for (const auto& go_on : staying) go_on(true);  // to fail
  if (say_) say_(log_level::warning, wire_.shown() + ": the session has ended");
  for (const standing_ref& one : lost) {
    turn_.failed(
        {*one->claim.name, one->claim.owner},
        make_error(errc::not_held, "'" + one->claim.name->str() + "': the session has ended"));
  }
  for (const standing_ref& one : waiting) {
    turn_.look_again({*one->claim.name, one->claim.owner});
  }
}

/// Holds that last are guarded against removal by hand; short ones are not worth the request.
void engine::beat() noexcept {
  const time_point now = clock_.now();
  const time_point old_enough = now - wire_.beat_interval() / 2;
  std::vector<std::pair<standing_ref, std::string>> to_guard;
  std::vector<standing_ref> refused;
  std::vector<standing_ref> too_long;
  {
    const std::lock_guard guard{table_.mutex};
    for (const standing_ref& one : table_.all()) {
      if (std::exchange(one->refused, false)) refused.push_back(one);
      if (one->go_on && now >= one->stays_until) too_long.push_back(one);
      if (one->now != standing::phase::held || one->guarded || one->since > old_enough) continue;
      if (!table_.room_for_guards()) continue;
      one->guarded = true;
      if (!one->node.empty()) to_guard.emplace_back(one, one->node);
      for (const std::string& each : one->leases) to_guard.emplace_back(one, each);
      if (!one->node.empty()) table_.guard(one, one->node);
      for (const std::string& each : one->leases) table_.guard(one, each);
    }
  }
  for (const auto& [one, path] : to_guard) guard_node(one, path);
  for (const standing_ref& one : refused) leave(desk_, one, nullptr);
  for (const standing_ref& one : too_long) end_stay(one);
}

void engine::guard_node(const standing_ref& one, const std::string& path) {
  std::vector<connection::asked> all;
  // Reading, unlike exists, leaves no watch behind where nothing is.
  all.push_back({read(path, true), [this, one, path](response& said) {
                   const bool others = said.ok() && said.facts.owner != wire_.now().id;
                   if (said.no_node() || others) return told_gone(one, path);
                   if (said.ok()) return;
                   const std::lock_guard guard{table_.mutex};
                   one->guarded = false;  // at the next beat
                 }});
  try {
    wire_.send(all);
  } catch (const error&) {
    const std::lock_guard guard{table_.mutex};
    one->guarded = false;
  }
}

}  // namespace crosslock::zookeeper
