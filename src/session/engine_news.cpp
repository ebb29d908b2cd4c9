// What happens to claims by itself: watches fire, connections are lost and found, sessions end.
//
// Nothing here touches a member after its last call of engine_events: the core may close the engine
// then.
#include "session/engine.hpp"
#include "session/watch_rule.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::session {

void engine::heard(const event& news) noexcept {
  std::vector<standing_ref> waiters;
  standing_ref holder;
  standing_ref listener;
  {
    const seam::lock_guard guard{table_.mutex};
    waiters = table_.take_watchers(news.path);
    if (news.what == event::kind::erased) holder = table_.guarded(news.path);
    if (news.what == event::kind::children) listener = table_.take_listener(news.path);
    if (listener && listener->now != standing::phase::held) listener.reset();
  }
  if (listener) listen_behind(listener);
  for (const standing_ref& one : waiters) let_in_or_wake(one, news);
  if (holder) told_gone(holder, news.path);
  changed_elsewhere(news.path);
}

/// The event alone lets it in when it is known that nobody else stands before it.
void engine::let_in_or_wake(const standing_ref& waiter, const event& news) {
  std::optional<seam::grant> granted;
  std::function<void(bool)> go_on;
  {
    const seam::lock_guard guard{table_.mutex};
    go_on = std::exchange(waiter->go_on, nullptr);
    if (waiter->now != standing::phase::waiting && !go_on) return;  // it is looking anyway
    waiter->asked = clock_.now();
    if (lets_in(*waiter, news.what) && !go_on) granted = environment_.grant_of(*waiter);
    if (granted) {
      table_.hold(waiter, waiter->asked);
      if (std::exchange(waiter->expects_news, false)) environment_.wire.expect_news(-1);
    }
  }
  if (go_on) return go_on(true);
  if (granted) return events_.granted(*granted);
  events_.look_again({*waiter->claim.name, waiter->claim.owner});
}

void engine::told_gone(const standing_ref& holder, const std::string& path) {
  {
    const seam::lock_guard guard{table_.mutex};
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
  if (holder->leases.size() > 1) leave(environment_, holder, nullptr);
  events_.failed({*holder->claim.name, holder->claim.owner},
                 environment_.words.make_error(
                     errc::lost, "'" + holder->claim.name->str() + "': its node was removed"));
}

void engine::suspended(const error& why) noexcept {
  if (say_) {
    say_(log_level::warning,
         std::string{why.what()} + "; suspended: holds stay valid until their deadlines");
  }
  events_.suspended(why);
}

void engine::resumed(session_number session) noexcept {
  claims::unfinished found;
  {
    const seam::lock_guard guard{table_.mutex};
    found = table_.after_reconnect();
  }
  for (const standing_ref& one : found.leaving) leave(environment_, one, nullptr);
  for (const standing_ref& one : found.waiting) {
    events_.look_again({*one->claim.name, one->claim.owner});
  }
  missed_news();
  if (session > 0) events_.resumed();
}

void engine::ended(session_number session) noexcept {
  claims::bereft found;
  {
    const seam::lock_guard guard{table_.mutex};
    found = table_.after_session(session);
  }
  events_.session_cut();  // before anything that a user's log could hold up
  for (const auto& go_on : found.staying) go_on(true);
  for (const hearer& left : found.leaving) {
    response unknown{.what = response::result::cut_off};
    left(unknown);
  }
  if (say_) say_(log_level::warning, environment_.wire.shown() + ": the session has ended");
  for (const standing_ref& one : found.waiting) {
    events_.look_again({*one->claim.name, one->claim.owner});
  }
}

/// Holds that last are guarded against removal by hand; short ones are not worth the request.
void engine::beat() noexcept {
  const time_point now = clock_.now();
  const time_point old_enough = now - environment_.wire.beat_interval() / 2;
  claims::chores found;
  {
    const seam::lock_guard guard{table_.mutex};
    found = table_.due(now, old_enough);
  }
  for (const auto& [one, path] : found.to_guard) guard_node(one, path);
  for (const standing_ref& one : found.refused) leave(environment_, one, nullptr);
  for (const standing_ref& one : found.too_long) end_stay(one);
}

void engine::guard_node(const standing_ref& one, const std::string& path) {
  std::vector<tree::asked> all;
  // Reading, unlike exists, leaves no watch behind where nothing is.
  all.push_back({read(path, true), [this, one, path](response& said) {
                   const bool others = said.ok() && !environment_.words.is_present(said.facts);
                   if (said.no_node() || others) return told_gone(one, path);
                   if (said.ok()) return;
                   const seam::lock_guard guard{table_.mutex};
                   table_.guard_later(one);  // at the next beat
                 }});
  try {
    environment_.wire.send(all);
  } catch (const error&) {
    const seam::lock_guard guard{table_.mutex};
    table_.guard_later(one);
  }
}

// Whether others wait behind a holder. Nobody tells it so: it looks, and watches its line, once it
// passes its grant on within the client. Whoever passes nothing on need not know.
void engine::listen_for_wanted(seam::claim_key key) noexcept {
  standing_ref holder;
  {
    const seam::lock_guard guard{table_.mutex};
    holder = table_.find(key.owner);
  }
  if (holder) listen_behind(holder);
}

void engine::listen_behind(const standing_ref& holder) {
  std::vector<tree::asked> all;
  all.push_back({children(holder->parent, true),
                 [this, holder](response& said) { hear_behind(holder, said); }});
  try {
    environment_.wire.send(all);
  } catch (const error&) {
    events_.wanted({*holder->claim.name, holder->claim.owner});  // for all we know
  }
}

void engine::hear_behind(const standing_ref& holder, const response& said) {
  {
    const seam::lock_guard guard{table_.mutex};
    if (holder->now != standing::phase::held) return;
    const std::vector<member> line = environment_.words.read_line(said.names);
    const bool last =
        said.ok() && !line.empty() && below(holder->parent, line.back().name) == holder->node;
    // The holder's own end is a change of the line as well: no watch stays behind.
    if (last) return table_.listen(holder);
  }
  events_.wanted({*holder->claim.name, holder->claim.owner});
}

}  // namespace crosslock::session
