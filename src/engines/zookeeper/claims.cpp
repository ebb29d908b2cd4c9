// Leaving: a node of ours must go, whatever becomes of the connection. It is removed by this
// session, again after each reconnect, or by the end of the session.
#include "engines/zookeeper/claims.hpp"

#include "engine/line_rule.hpp"
#include "engines/zookeeper/path.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <utility>

namespace crosslock::zookeeper {

void claims::forget(const standing_ref& one) {
  unwatch(one);
  one->go_on = nullptr;
  if (!one->node.empty()) guarded_.erase(one->node);
  for (const std::string& each : one->leases) guarded_.erase(each);
  const auto listener = listening_.find(one->parent);
  if (listener != listening_.end() && listener->second == one) listening_.erase(listener);
  const auto it = all_.find(one->claim.owner);
  if (it != all_.end() && it->second == one) all_.erase(it);
}

standing_ref claims::take_listener(const std::string& parent) {
  const auto found = listening_.find(parent);
  if (found == listening_.end()) return nullptr;
  const standing_ref holder = std::move(found->second);
  listening_.erase(found);
  return holder;
}

void claims::watch(const standing_ref& one, const std::string& path) {
  unwatch(one);
  // Nothing is known of the new one until the server has answered.
  one->looked = {};
  one->alone_before = false;
  one->word_counts = false;
  one->watched = path;
  watching_.emplace(path, one);
}

void claims::unwatch(const standing_ref& one) {
  if (one->watched.empty()) return;
  const auto [begin, end] = watching_.equal_range(one->watched);
  const auto mine = std::find_if(begin, end, [&](const auto& each) { return each.second == one; });
  if (mine != end) watching_.erase(mine);
  one->watched.clear();
}

std::vector<standing_ref> claims::take_watchers(const std::string& path) {
  std::vector<standing_ref> found;
  const auto [begin, end] = watching_.equal_range(path);
  for (auto it = begin; it != end; ++it) {
    it->second->watched.clear();
    found.push_back(it->second);
  }
  watching_.erase(begin, end);
  return found;
}

std::vector<standing_ref> claims::all() const {
  std::vector<standing_ref> found;
  found.reserve(all_.size());
  for (const auto& [owner, one] : all_) found.push_back(one);
  return found;
}

std::optional<seam::grant> desk::grant_of(const standing& held) const {
  const connection::life life = wire.now();
  if (life.session != held.session || !life.proven) return std::nullopt;
  return seam::grant{.name = held.claim.name,
                     .owner = held.claim.owner,
                     .first = held.first,
                     .last = last_of_block(held.first),
                     .lease = life.timeout,
                     .sent = *life.proven,
                     .asked = held.asked,
                     .offer = false,
                     .wanted = false};
}

std::string desk::inscription_of(const standing& one) const {
  const bool permits = one.claim.mode == claim_mode::permit;
  const auto beside = seam::beside(one.claim);
  return inscribe({.session = wire.timeout(),
                   .token = one.first.value(),
                   .of = permits ? one.claim.of : 0,
                   .beside = beside ? beside->to_string() : std::string{},
                   .mark = single ? one.claim.owner.to_string() : std::string{},
                   .who = who});
}

namespace {

/// Says in the same step that it was held, so that the next in line need not look around.
request end_of_hold(const standing& one) {
  return transaction({{.what = change::kind::write, .path = one.node, .data = {}},
                      {.what = change::kind::erase, .path = one.node, .data = {}}});
}

request removal(const standing& one) {
  // An upgrade may have stood beside its own shared claim, which may go on without it.
  const bool alone =
      one.claim.mode == claim_mode::exclusive && !one.readers_place && !seam::is_upgrade(one.claim);
  return one.was_held && alone ? end_of_hold(one) : erase(one.node);
}

void settle(desk& at, const standing_ref& one, response& said, const hearer& then) {
  {
    const std::lock_guard guard{at.table.mutex};
    if (said.ok() || said.no_node()) {
      at.table.forget(one);
    } else {
      one->refused = !said.cut_off();
    }
  }
  if (then) then(said);
}

/// Each by itself, for one that is gone already must not keep the others.
void remove_each(desk& at, const standing_ref& one, const std::vector<std::string>& paths,
                 const hearer& then) {
  const auto worst = std::make_shared<response>();
  std::vector<connection::asked> all;
  for (const std::string& path : paths) {
    all.push_back({erase(path), [worst](response& said) {
                     if (!said.ok() && !worst->cut_off()) worst->code = said.code;
                   }});
  }
  const hearer last = all.back().then;
  all.back().then = [&at, one, then, worst, last](response& said) {
    last(said);
    settle(at, one, *worst, then);
  };
  at.wire.send(all, one->session);
}

/// Everybody's node has the same path: is it ours?
void remove_if_ours(desk& at, const standing_ref& one, const hearer& then) {
  std::vector<connection::asked> all;
  all.push_back({sync(one->place), nullptr});
  all.push_back({read(one->place), [&at, one, then](response& said) {
                   const auto words = read_inscription(said.data);
                   const bool ours = said.ok() && words &&
                                     words->mark == one->claim.owner.to_string() &&
                                     said.facts.owner == at.wire.now().id;
                   if (!ours) return settle(at, one, said, then);
                   {
                     const std::lock_guard guard{at.table.mutex};
                     one->node = one->place;
                   }
                   leave(at, one, then);
                 }});
  at.wire.send(all, one->session);
}

/// A request was answered by nobody: look for what it has left.
void remove_unknown(desk& at, const standing_ref& one, const hearer& then) {
  const auto found = std::make_shared<std::vector<std::string>>();
  const auto take = [one, found](const std::string& folder) {
    return [one, found, folder](response& said) {
      for (const std::string_view child : said.names) {
        const auto node = read_node(child);
        if (node && node->owner() == one->claim.owner) found->push_back(below(folder, child));
      }
    };
  };
  const std::string leases = one->place + "/leases";
  std::vector<connection::asked> all;
  all.push_back({sync(one->place), nullptr});
  if (one->claim.mode == claim_mode::permit) all.push_back({children(leases), take(leases)});
  all.push_back({children(one->parent), [&at, one, found, then, take](response& said) {
                   take(one->parent)(said);
                   if (said.cut_off() || found->empty()) return settle(at, one, said, then);
                   try {
                     remove_each(at, one, *found, then);
                   } catch (const error&) {
                     response refused{.code = ZCONNECTIONLOSS};
                     settle(at, one, refused, then);
                   }
                 }});
  at.wire.send(all, one->session);
}

}  // namespace

void leave(desk& at, const standing_ref& one, hearer then) {
  response nothing_there{.code = ZNONODE};
  bool unknown = false;
  std::vector<std::string> several;
  std::vector<connection::asked> all;
  {
    const std::lock_guard guard{at.table.mutex};
    one->now = standing::phase::leaving;
    one->refused = false;
    ++one->ask;
    at.table.unwatch(one);
    one->go_on = nullptr;
    if (std::exchange(one->expects_news, false)) at.wire.expect_news(-1);
    if (!one->sent || at.wire.now().session != one->session) {
      at.table.forget(one);
    } else if (one->replacing || (one->node.empty() && one->leases.empty())) {
      unknown = true;
    } else if (!one->leases.empty()) {
      several = one->leases;
    } else {
      all.push_back(
          {removal(*one), [&at, one, then](response& said) { settle(at, one, said, then); }});
    }
  }
  response refused{.code = ZCONNECTIONLOSS};
  try {
    if (unknown && at.single) return remove_if_ours(at, one, then);
    if (unknown) return remove_unknown(at, one, then);
    if (!several.empty()) return remove_each(at, one, several, then);
    if (!all.empty()) return at.wire.send(all, one->session);
  } catch (const error&) {
    // It stays a claim that leaves: the next connection of this session removes it, or this one.
    {
      const std::lock_guard guard{at.table.mutex};
      one->refused = true;
    }
    if (then) then(refused);
    return;
  }
  if (then) then(nothing_there);
}

}  // namespace crosslock::zookeeper
