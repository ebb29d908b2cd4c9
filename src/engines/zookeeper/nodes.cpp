#include "engines/zookeeper/nodes.hpp"

#include "engines/zookeeper/path.hpp"
#include "line_rules/line_rule.hpp"
#include "session/claim_environment.hpp"

#include <utility>

namespace crosslock::zookeeper {
namespace {

bool for_permits(const standing& one) { return one.claim.mode == claim_mode::permit; }

std::string leases_of(const standing& one) { return one.name_path + "/leases"; }

node_kind kind_of(const seam::claim& claim) {
  if (claim.mode == claim_mode::permit) return node_kind::permits;
  if (claim.mode == claim_mode::shared) return node_kind::reader;
  return claim.among_readers ? node_kind::writer : node_kind::mutex;
}

}  // namespace

void nodes::locate(standing& mine) const {
  mine.name_path = path_of(wire_.root(), *mine.claim.name);
  mine.parent = for_permits(mine) ? mine.name_path + "/locks" : mine.name_path;
}

request nodes::place_for(const standing& mine) const {
  const seam::claim& claim = mine.claim;
  if (how_.single) {
    return create(mine.name_path, inscription_of(mine), node_life::ephemeral, rights::own_node);
  }
  const std::string stem = new_node(how_.names, kind_of(claim), claim.owner, claim.permits);
  return create(below(mine.parent, stem), inscription_of(mine), node_life::ephemeral_sequential,
                rights::own_node);
}

std::vector<request> nodes::parents_of(const standing& mine) const {
  std::vector<std::string> paths = ancestors(mine.parent);
  if (how_.single) paths.pop_back();
  // kazoo makes a parent once, and takes it for granted as long as its lock lives.
  const node_life life = how_.names == naming::kazoo ? node_life::persistent : node_life::container;
  std::vector<request> all;
  for (std::string& each : paths) {
    all.push_back(create(std::move(each), {}, life, rights::shared));
  }
  if (for_permits(mine)) {
    all.push_back(create(leases_of(mine), inscribe({.of = mine.claim.of}), life, rights::shared));
  }
  if (all.empty()) all.push_back(sync("/"));
  return all;
}

void nodes::note_place(standing& mine, const std::string& path, const node_facts& facts) const {
  const auto node = read_node(std::string_view{path}.substr(path.rfind('/') + 1));
  mine.first = fence_of(facts.born, mine.claim.name->view());
  mine.node = path;
  mine.sequence = node ? node->sequence : 0;
}

/// A write to the node says that it was held, so that the next in line need not look around.
request nodes::removal_of(const standing& mine) const {
  // An upgrade may have stood beside its own shared claim, which may go on without it.
  const bool alone = mine.claim.mode == claim_mode::exclusive && !mine.readers_node &&
                     !seam::is_upgrade(mine.claim);
  if (!mine.was_held || !alone) return erase(mine.node);
  return transaction({{.what = change::kind::write, .path = mine.node, .data = {}},
                      {.what = change::kind::erase, .path = mine.node, .data = {}}});
}

std::vector<std::string> nodes::folders_of(const standing& mine) const {
  if (for_permits(mine)) return {leases_of(mine), mine.parent};
  return {mine.parent};
}

std::vector<member> nodes::read_line(const name_list& listed) const {
  const std::vector<node> line = zookeeper::read_line(listed);
  std::vector<member> members;
  members.reserve(line.size());
  for (const node& one : line) {
    members.push_back({one.name, demand_of(one), one.kind == node_kind::writer});
  }
  return members;
}

std::optional<owner_id> nodes::owner_of(std::string_view child) const {
  const auto found = read_node(child);
  return found ? found->owner() : std::nullopt;
}

bool nodes::is_ours(std::string_view data) const { return read_inscription(data).has_value(); }

bool nodes::is_present(const node_facts& facts) const { return facts.owner == wire_.now().id; }

error nodes::make_error(errc code, const std::string& text, bool outcome_unknown) const {
  return zookeeper::make_error(code, text, 0, outcome_unknown);
}

error nodes::error_in(const response& said, const std::string& what) const {
  return zookeeper::error_in(said, what, wire_.shown());
}

error nodes::error_below(const std::string& path) const {
  return make_error(errc::conflict,
                    path +
                        " is an ephemeral node, of strategy=single or of somebody else: use one "
                        "strategy for all names below",
                    false);
}

std::string nodes::inscription_of(const standing& mine) const {
  const auto beside = seam::beside(mine.claim);
  return inscribe({.session = wire_.timeout(),
                   .token = mine.first.value(),
                   .of = for_permits(mine) ? mine.claim.of : 0,
                   .beside = beside ? beside->to_string() : std::string{},
                   .mark = how_.single ? mine.claim.owner.to_string() : std::string{},
                   .who = who_});
}

std::int32_t nodes::permits_most(const seam::claim& claim) const {
  standing mine;
  mine.claim = claim;
  mine.first = fence{fence::max_value};
  locate(mine);
  const std::string stem = new_node(how_.names, node_kind::lease, claim.owner);
  // Its kind and the lengths of path and data are numbers; so are the flags.
  constexpr std::size_t numbers = 9 + 4 * sizeof(std::int32_t);
  const std::size_t each = below(leases_of(mine), stem).size() + inscription_of(mine).size() +
                           wire_.bytes_of(rights::own_node) + numbers;
  return static_cast<std::int32_t>(message_longest / each);
}

std::string_view nodes::stranger(const seam::claim& claim, std::string_view child) const {
  return zookeeper::stranger(how_.names, kind_of(claim), child);
}

bool nodes::holds(const standing& mine, const response& said) const {
  const auto words = read_inscription(said.data);
  return said.ok() && words && words->mark == mine.claim.owner.to_string() &&
         is_present(said.facts);
}

bool nodes::remove_unknown(claim_environment& at, const standing_ref& mine,
                           const hearer& then) const {
  if (!how_.single) return false;
  std::vector<tree::asked> all;
  all.push_back({sync(mine->name_path), nullptr});
  all.push_back({read(mine->name_path), [this, &at, mine, then](response& said) {
                   if (!holds(*mine, said)) {
                     if (said.ok()) said.what = response::result::missing;  // somebody else's
                     return finish_removal(at, mine, said, then);
                   }
                   {
                     const seam::lock_guard guard{at.table.mutex};
                     mine->node = mine->name_path;
                   }
                   leave(at, mine, then);
                 }});
  at.wire.send(all, mine->session);
  return true;
}

}  // namespace crosslock::zookeeper
