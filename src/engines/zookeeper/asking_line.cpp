// Mutexes and read-write locks: a sequential child of the name's node, made and listed in one
// flight. Who may go in is the rule of line_rule.hpp over that list; who may not watches the one
// that keeps it out.
#include "engines/zookeeper/asking_kinds.hpp"

#include "engine/line_rule.hpp"
#include "engine/mutant.hpp"
#include "engines/zookeeper/path.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::zookeeper {

node_kind asking_line::kind() const {
  if (claim().mode == claim_mode::shared) return node_kind::reader;
  return claim().among_readers ? node_kind::writer : node_kind::mutex;
}

std::vector<request> asking_line::parents() const {
  std::vector<request> all;
  for (std::string& each : ancestors(mine_->place)) {
    all.push_back(create(std::move(each), {}, node_life::container, rights::shared));
  }
  return all;
}

void asking_line::make() {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = true;
  }
  const std::string stem = new_node(at_.how, kind(), claim().owner);
  std::vector<sent> all;
  all.push_back({create(node_in(stem), at_.inscription_of(*mine_), node_life::ephemeral_sequential,
                        rights::own_node),
                 [this](response& said) { made_ = std::move(said); }});
  all.push_back({children(mine_->parent), [this](response& said) { made(said); }});
  send(std::move(all));
}

void asking_line::made(response& listed) {
  if (made_.no_node()) return make_parents();
  if (!made_.ok()) {
    if (!made_.cut_off()) {
      const std::lock_guard guard{at_.table.mutex};
      mine_->sent = false;
    }
    return fail_below(mine_->parent, made_);
  }
  take_node(made_.path, made_.facts.born);
  judge(listed);
}

void asking_line::look() {
  const time_point now = at_.clock.now();
  std::string watched;
  time_point looked;
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    watched = mine_->watched;
    looked = mine_->looked;
  }
  if (watched.empty() || seam::is_upgrade(claim())) return list();
  // While its watch is in place nothing has happened; to be sure it looks now and then.
  if (now < looked + at_.wire.timeout() / 4) return in_line(looked);
  std::vector<sent> all;
  all.push_back({exists(mine_->node), [this](response& said) { made_ = std::move(said); }});
  all.push_back({read(watched, true), [this, now](response& said) {
                   if (made_.no_node()) return start_over();
                   if (said.no_node()) return list();
                   if (!said.ok()) return fail(said, "watch the line of '" + name().str() + "'");
                   in_line(now);
                 }});
  send(std::move(all));
}

void asking_line::list() {
  std::vector<sent> all;
  all.push_back({children(mine_->parent), [this](response& said) { judge(said); }});
  send(std::move(all));
}

void asking_line::find() {
  std::vector<sent> all;
  // What was sent on an earlier connection is carried out before this, or never: the ensemble
  // refuses requests of a session that has moved on.
  all.push_back({sync(mine_->parent), nullptr});
  all.push_back({children(mine_->parent), [this](response& said) { found(said); }});
  send(std::move(all));
}

void asking_line::found(response& listed) {
  if (listed.no_node()) return start_over();
  if (!listed.ok()) return fail(listed, "list '" + name().str() + "'");
  std::vector<sent> all;
  for (const std::string_view child : listed.names) {
    const auto node = read_node(child);
    if (node && node->owner() == claim().owner) all.push_back({exists(node_in(child)), nullptr});
  }
  if (all.empty()) return start_over();
  const auto ours = std::make_shared<std::optional<std::pair<std::string, std::int64_t>>>();
  for (sent& one : all) {
    one.then = [this, ours, path = one.what.path](response& said) {
      // Another session of ours may have left it: it is about to vanish.
      const bool present =
          said.facts.owner == at_.wire.now().id || seam::mutated(seam::mutant::any_node_of_ours);
      if (said.ok() && present && !*ours) *ours = {path, said.facts.born};
    };
  }
  all.back().then = [this, ours, last = all.back().then, listed](response& said) mutable {
    last(said);
    if (said.cut_off()) return fail(said, "look at the line of '" + name().str() + "'");
    if (!*ours) return start_over();
    take_node((*ours)->first, (*ours)->second);
    judge(listed);
  };
  send(std::move(all));
}

void asking_line::judge(response& listed) {
  if (listed.no_node()) return start_over();
  if (!listed.ok()) return fail(listed, "list '" + name().str() + "'");
  if (std::ranges::find(listed.names, "leases") != listed.names.end()) {
    return refuse_if_semaphore(listed);
  }
  judge_line(listed.names);
}

/// The name is, or was lately, that of a semaphore. Its permits and our line know nothing of each
/// other, as with Curator: so nobody may use both.
void asking_line::refuse_if_semaphore(response& listed) {
  std::vector<sent> all;
  all.push_back({children(mine_->place + "/leases"),
                 [this](response& said) { made_.names = std::move(said.names); }});
  all.push_back({children(mine_->place + "/locks"), [this, listed](response& said) {
                   if (said.cut_off()) return fail(said, "list '" + name().str() + "'");
                   if (made_.names.empty() && said.names.empty()) return judge_line(listed.names);
                   refuse(make_error(errc::conflict,
                                     "'" + name().str() +
                                         "' is in use as a semaphore: on ZooKeeper a mutex needs a "
                                         "name of its own"));
                 }});
  send(std::move(all));
}

void asking_line::judge_line(const name_list& listed) {
  const std::vector<node> line = read_line(listed);
  const std::string own = mine_->node.substr(mine_->node.rfind('/') + 1);
  const auto me = std::ranges::find(line, own, &node::name);
  if (me == line.end()) return start_over();
  const auto index = static_cast<std::size_t>(me - line.begin());

  std::vector<seam::wish> wishes;
  wishes.reserve(index + 1);
  std::optional<std::size_t> beside;
  const auto stands_beside = seam::beside(claim());
  for (std::size_t i = 0; i <= index; ++i) {
    wishes.push_back(wish_of(line[i]));
    if (stands_beside && line[i].owner() == stands_beside) beside = i;
  }
  if (refuse_upgrade(wishes, index)) return;
  const seam::place verdict = seam::judge_claim(wishes, index, beside);
  if (verdict.granted) return hold();
  if (!claim().wait) return busy();
  if (index >= line_longest) {
    return refuse(make_error(errc::queue_full, "the line of '" + name().str() +
                                                   "' has reached its cap of " +
                                                   std::to_string(line_longest) + " waiters"));
  }
  watch(line, wishes, verdict.watches.front(), beside);
}

/// Two who share and both want the whole name would wait for each other for ever.
bool asking_line::refuse_upgrade(const std::vector<seam::wish>& wishes, std::size_t index) {
  if (!seam::is_upgrade(claim())) return false;
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return true;  // the one that has followed it judges
    if (std::exchange(mine_->upgrade_judged, true)) return false;
  }
  const bool conflict =
      std::any_of(wishes.begin(), wishes.begin() + static_cast<std::ptrdiff_t>(index),
                  [](const seam::wish& one) { return one.mode == claim_mode::exclusive; });
  if (!conflict) return false;
  refuse(make_error(errc::upgrade_conflict,
                    "another exclusive claim on '" + name().str() +
                        "' was first; release the shared hold and acquire anew"));
  return true;
}

void asking_line::watch(const std::vector<node>& line, const std::vector<seam::wish>& wishes,
                        std::size_t whom, std::optional<std::size_t> beside) {
  const auto exclusive = [](const seam::wish& one) { return one.mode == claim_mode::exclusive; };
  bool alone_before = false;
  if (claim().mode == claim_mode::shared) {
    alone_before =
        std::none_of(wishes.begin(), wishes.begin() + static_cast<std::ptrdiff_t>(whom), exclusive);
  } else {
    // Everybody before it but the one it may stand beside keeps it out.
    alone_before = wishes.size() - 1 - (beside ? 1 : 0) == 1;
  }
  const bool can_tell = exclusive(wishes[whom]);
  const bool writer = line[whom].kind == node_kind::writer;
  const bool shares = claim().mode == claim_mode::shared;
  const std::string path = node_in(line[whom].name);
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    at_.table.watch(mine_, path);
  }
  const time_point now = at_.clock.now();
  std::vector<sent> all;
  all.push_back({read(path, true), [=, this](response& said) {
                   if (said.no_node()) return list();  // gone between listing and watching
                   if (!said.ok()) return fail(said, "watch the line of '" + name().str() + "'");
                   {
                     const std::lock_guard guard{at_.table.mutex};
                     const bool ours = read_inscription(said.data).has_value();
                     // Only we write to our nodes, and only in the step that ends a hold.
                     mine_->word_counts = can_tell && ours;
                     // A writer that vanishes may have become a reader in the same place, which
                     // lets readers in, but no writer. Other libraries' mutexes never do that.
                     const bool replaced = can_tell && (ours || writer);
                     mine_->alone_before = alone_before && (shares || !replaced);
                   }
                   in_line(now);
                 }});
  send(std::move(all));
}

}  // namespace crosslock::zookeeper
