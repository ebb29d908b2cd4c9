// What is ZooKeeper's own about claims; the rest is in session/engine.cpp. Inspection is in
// engine_look.cpp, cells in engine_cells.cpp.
#include "engines/zookeeper/engine.hpp"

#include "engines/zookeeper/asking_kinds.hpp"
#include "engines/zookeeper/path.hpp"
#include "line_rules/line_rule.hpp"

#include <utility>

namespace crosslock::zookeeper {
namespace {

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

}  // namespace

engine::engine(connection_settings where, const preferences& how, std::string who, duration timeout,
               seam::engine_events& events, seam::clock& clock, log say)
    : session::engine{[&](session_listener& listener) {
                        auto wire = std::make_unique<connection>(where, clock, listener);
                        auto words = std::make_unique<nodes>(*wire, how, std::move(who));
                        return parts{std::move(wire), std::move(words)};
                      },
                      events, clock, std::move(say)},
      how_{how},
      timeout_{timeout},
      asked_{where.session},
      traits_{traits_of(how)},
      wire_{static_cast<connection&>(*parts_.wire)},
      words_{static_cast<const nodes&>(*parts_.words)} {
  wire_.open(clock.now() + timeout);
  traits_.session = wire_.timeout();
}

engine::~engine() { close(); }

void engine::close() noexcept {
  wire_.close();
  forget_staying();
}

std::shared_ptr<asking> engine::way_of(const standing_ref& mine, asking::told then) {
  if (how_.single) return std::make_shared<asking_single>(environment_, mine, std::move(then));
  if (mine->claim.mode == claim_mode::permit) {
    return std::make_shared<asking_permits>(environment_, mine, std::move(then));
  }
  return std::make_shared<asking_in_line>(environment_, mine, std::move(then));
}

void engine::changed_elsewhere(const std::string& path) noexcept {
  if (const auto cell = cell_at(wire_.root(), path)) events_.cell_changed(*cell);
}

void engine::resumed(session_number session) noexcept {
  session::engine::resumed(session);
  // Last: whoever writes it down may take his time.
  const duration given = wire_.timeout();
  if (say_ && given < asked_ && std::exchange(reported_, given) != given) {
    say_(log_level::warning, shorter_than_asked(wire_.shown(), asked_, given));
  }
}

void engine::missed_news() noexcept {
  for (const seam::name_ref& cell : cells_.all(clock_.now())) events_.cell_changed(*cell);
}

std::string engine::path_of_name(const lock_name& name) const {
  return path_of(wire_.root(), name);
}

void engine::refuse(const seam::claim& claim) const {
  seam::refuse_lease(offered, claim.lease);
  constexpr std::int32_t surely_fit = 100;
  if (claim.mode == claim_mode::permit && claim.permits > surely_fit) {
    const std::int32_t most = words_.permits_most(claim);
    if (claim.permits > most) {
      throw make_error(errc::unsupported, "'" + claim.name->str() +
                                              "': " + std::to_string(claim.permits) +
                                              " permits at once do not fit into a message of "
                                              "ZooKeeper's: take at most " +
                                              std::to_string(most) + " in one hold");
    }
  }
  if (claim.mode == claim_mode::exclusive || (claim.mode == claim_mode::shared && traits_.shared) ||
      (claim.mode == claim_mode::permit && traits_.permits)) {
    return;
  }
  throw make_error(errc::unsupported, "strategy=single has neither readers nor permits");
}

/// As Curator does it: a reader's node with the writer's number takes its place.
void engine::share(seam::renewal& item, time_point give_up) {
  standing_ref mine;
  std::string writer;
  std::string reader;
  {
    const seam::lock_guard guard{table_.mutex};
    mine = table_.find(item.held.owner);
    if (!mine || mine->now != standing::phase::held || mine->first != item.held.first) return;
    if (mine->readers_node || mine->claim.mode != claim_mode::exclusive) return;
    writer = mine->node;
    table_.unguard(writer);  // its end will be our own doing
    mine->guarded = true;    // nor is it to be guarded anew meanwhile
    mine->replacing = true;
    reader = mine->parent + '/' + reader_in_place_of(how_.names, mine->claim.owner, mine->sequence);
  }
  const response said =
      wire_.call(transaction({{.what = change::kind::create,
                               .path = reader,
                               .data = words_.inscription_of(*mine),
                               .life = node_life::ephemeral},
                              {.what = change::kind::erase, .path = writer, .data = {}}}),
                 give_up);
  bool done = said.ok();
  if (said.exists_already()) {  // an earlier try, whose answer was lost
    const response there = wire_.call(exists(reader), give_up);
    done = there.ok() && words_.is_present(there.facts);
  }
  if (!done && !said.no_node()) {
    throw error_in(said, "share '" + item.held.name->str() + "'", wire_.shown());
  }
  const seam::lock_guard guard{table_.mutex};
  if (mine->now != standing::phase::held) return;
  table_.forget(mine);
  if (!done) {  // somebody has removed it
    mine->now = standing::phase::asking;
    return;
  }
  mine->node = reader;
  mine->readers_node = true;
  mine->replacing = false;
  table_.add(mine);
  table_.guard_later(mine);
}

}  // namespace crosslock::zookeeper
