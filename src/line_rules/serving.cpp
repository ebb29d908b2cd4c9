// What happens to one name: leases end, processes die, places in the line end, and the line is
// served by the one rule of line_rule.hpp over the holders and then the waiters by their tickets.
#include "engine/mutant.hpp"
#include "line_rules/line_walk.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;

/// Waiters look for an ended lease one after another, not all at once.
constexpr duration stagger = 1ms;
/// Mutant M5: longer than any test waits.
constexpr duration never = 24h * 365;

}  // namespace

std::int64_t rows::before(const name_state& at, ticket_number ticket, std::int64_t most) {
  std::int64_t count = 0;
  for (auto it = at.line.begin(); count < most && it->first != ticket; ++it) ++count;
  return count;
}

std::vector<std::pair<std::string, name_state>> rows::copies_from(std::string_view prefix) {
  std::vector<std::pair<std::string, name_state>> found;
  for (std::string& name : names_from(prefix)) {
    if (auto one = copy(name)) found.emplace_back(std::move(name), *std::move(one));
  }
  return found;
}

std::vector<bool> rows::renew_each_alone(const std::vector<const renew_item*>& items) {
  std::vector<bool> done;
  for (const renew_item* const each : items) done.push_back(renew_alone(*each));
  return done;
}

server_time line_server::later(duration span) {
  const server_time now = rows_.now();
  return now > server_time::max() - span ? server_time::max() : now + span;
}

void line_server::drop_expired(name_state& at) {
  const server_time now = rows_.now();
  std::erase_if(at.holders, [&](const holder& one) { return one.ends <= now; });
}

void line_server::drop_ended(name_state& at, duration lately) {
  const server_time now = rows_.now();
  std::erase_if(at.holders, [&](const holder& one) {
    return one.ends <= now || (now - one.since > lately && rows_.dead(one.client));
  });
}

bool line_server::stands(const waiter& one) {
  return one.place_ends > rows_.now() && !rows_.gone(one.client);
}

void line_server::drop_ended_places(name_state& at) {
  walk line{rows_, at};
  while (const waiter* const one = line.next()) {
    if (!stands(*one)) line.drop();
  }
}

bool line_server::anyone_waits(name_state& at) {
  walk line{rows_, at};
  while (const waiter* const one = line.next()) {
    if (stands(*one)) return true;
    line.drop();
  }
  return false;
}

/// Two upgrading readers would deadlock: the second is told at once. Those who cannot be heard just
/// now count too, for they keep their place.
bool line_server::conflicts(name_state& at, const claim& upgrade) {
  if (!is_upgrade(upgrade)) return false;
  const auto exclusive = [](const auto& one) { return one.demand.mode == claim_mode::exclusive; };
  if (std::ranges::any_of(at.holders, exclusive)) return true;
  walk line{rows_, at};
  while (const waiter* const other = line.next()) {
    if (exclusive(*other) && stands(*other)) return true;
  }
  return false;
}

void line_server::serve(name_state& at, const owner_id& asking) {
  if (at.waiting() == 0) return;
  const std::size_t first_news = news_.size();
  line_so_far before;
  for (const holder& one : at.holders) before.add(one.demand);
  walk line{rows_, at};
  while (!before.closed()) {
    const waiter* const next = line.next();
    if (next == nullptr) break;
    if (!stands(*next)) {
      line.drop();
      continue;
    }
    if (next->owner != asking && !rows_.hears(next->client)) continue;
    const bool goes_in = before.admits(next->demand, at.is_shared_by(next->beside));
    before.add(next->demand);
    if (!goes_in) continue;
    if (at.top == fence::max_value) break;
    const holder& won = grant(at, {.owner = next->owner,
                                   .demand = next->demand,
                                   .lease = offer_lease(next->lease),
                                   .client = next->client,
                                   .who = next->who,
                                   .offer_of = next->ticket});
    line.drop();
    if (won.owner == asking) continue;
    news_.push_back({news::kind::granted,
                     won.client,
                     at.name,
                     won.owner,
                     won.offer_of,
                     {fence{won.first}, fence{won.last}, won.lease, false}});
    if (mutated(mutant::told_before_done)) at.holders.pop_back();
  }
  if (news_.size() == first_news) return;
  const bool wanted = anyone_waits(at);
  for (std::size_t i = first_news; i < news_.size(); ++i) news_[i].offer.wanted = wanted;
}

/// `max(last + block, clock)` for the first fence of each block: it rises by the counter while
/// there is one, and by the clock when the counter was lost.
std::pair<std::int64_t, std::int64_t> line_server::take_block(name_state& at) {
  constexpr std::int64_t rest = fence_block - 1;
  if (mutated(mutant::fence_stands_still) && at.top > rest) return {at.top - rest, at.top};
  const std::int64_t first = std::max(at.top + 1, rows_.fence_clock());
  at.top = first > fence::max_value - rest ? fence::max_value : first + rest;
  return {first, at.top};
}

holder& line_server::grant(name_state& at, holder fresh) {
  std::tie(fresh.first, fresh.last) = take_block(at);
  fresh.since = rows_.now();
  fresh.ends = later(fresh.lease);
  return at.holders.emplace_back(std::move(fresh));
}

/// Makes an offer a full lease. Never shortens: a late copy of an older request, for a shorter
/// lease, must not take away what a newer answer has promised. Nor does one that asked for much
/// once get as much again; but a clock that was set back gives nobody more than its lease.
void line_server::extend(holder& one, duration lease) {
  one.lease = std::max(one.lease, lease);
  if (lease > duration::zero()) {
    one.ends = std::max(std::min(one.ends, later(one.lease)), later(lease));
  }
  one.offer_of = 0;
}

ask_answer line_server::in_line(name_state& at, const waiter& mine) {
  const duration refresh = offer_lease(mine.lease) / 3;
  duration look = refresh;
  for (const holder& one : at.holders) look = std::min(look, one.ends - rows_.now());
  // The staggering matters, and is counted, only when a lease ends before the next refresh. What
  // stands before is counted once, for that and for who is near.
  const std::int64_t staggered = look < refresh ? (refresh - look) / stagger + 1 : 0;
  const std::int64_t before = rows_.before(at, mine.ticket, std::max(staggered, near_places));
  if (look < refresh) look += stagger * (1 + std::min(before, staggered));
  look = std::min(look, refresh);
  if (mutated(mutant::no_look_behind_wake_up)) look = never;
  return {.result = ask_result::in_line,
          .granted = {},
          .ticket = mine.ticket,
          .look_after = look,
          .near = before < near_places};
}

lock_info line_server::inspect(name_state& at, std::string_view name) {
  const server_time now = rows_.now();
  lock_info info{.name = std::string{name}, .holders = {}, .line = {}};
  for (const holder& one : at.holders) {
    info.holders.push_back({.owner = one.owner,
                            .mode = one.demand.mode,
                            .who = rows_.describe(one.client, one.who),
                            .age = now - one.since,
                            .lease_left = one.ends - now,
                            .fence = fence{one.first},
                            .permits = one.demand.permits,
                            .of = one.demand.of});
  }
  for (const auto& [ticket, one] : at.line) {
    if (!stands(one)) continue;
    info.line.push_back({.owner = one.owner,
                         .mode = one.demand.mode,
                         .who = rows_.describe(one.client, one.who),
                         .age = now - one.since,
                         .lease_left = {},
                         .fence = {},
                         .permits = one.demand.permits,
                         .of = one.demand.of});
  }
  return info;
}

}  // namespace crosslock::seam
