// A place in the line of the name, made and listed in one flight. Who may go in is the rule of
// line_rule.hpp over that list; who may not watches the one that keeps it out.
#include "session/asking_line.hpp"

#include "engine/mutant.hpp"
#include "line_rules/line_rule.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::session {

void asking_line::make() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = true;
  }
  std::vector<sent> all;
  all.push_back({at_.words.place_for(*mine_), [this](response& said) { made_ = std::move(said); }});
  all.push_back({children(mine_->parent), [this](response& said) { made(said); }});
  send(std::move(all));
}

void asking_line::made(response& listed) {
  if (made_.no_node()) return make_parents();
  if (!made_.ok()) {
    if (!made_.cut_off()) {
      const seam::lock_guard guard{at_.table.mutex};
      mine_->sent = false;
    }
    return fail_below(mine_->parent, made_);
  }
  take_node(made_.path, made_.facts);
  judge(listed);
}

void asking_line::look() {
  const time_point now = at_.clock.now();
  std::string watched;
  time_point looked;
  {
    const seam::lock_guard guard{at_.table.mutex};
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
  // What was sent on an earlier connection is carried out before this, or never: the servers
  // refuse requests of a session that has moved on.
  all.push_back({sync(mine_->parent), nullptr});
  all.push_back({children(mine_->parent), [this](response& said) { found(said); }});
  send(std::move(all));
}

void asking_line::found(response& listed) {
  if (listed.no_node()) return start_over();
  if (!listed.ok()) return fail(listed, "list '" + name().str() + "'");
  std::vector<sent> all;
  for (const std::string_view child : listed.names) {
    if (at_.words.owner_of(child) == claim().owner) {
      all.push_back({exists(node_in(child)), nullptr});
    }
  }
  if (all.empty()) return start_over();
  const auto ours = std::make_shared<std::optional<std::pair<std::string, node_facts>>>();
  for (sent& one : all) {
    one.then = [this, ours, path = one.what.path](response& said) {
      // Another session of ours may have left it: it is about to vanish.
      const bool present =
          at_.words.is_present(said.facts) || seam::mutated(seam::mutant::any_node_of_ours);
      if (said.ok() && present && !*ours) *ours = {path, said.facts};
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
  const std::vector<member> line = at_.words.read_line(listed.names);
  const std::string own = mine_->node.substr(mine_->node.rfind('/') + 1);
  const auto me = std::ranges::find(line, own, &member::name);
  if (me == line.end()) return start_over();
  const auto index = static_cast<std::size_t>(me - line.begin());

  std::optional<std::size_t> beside;
  if (const auto stands_beside = seam::beside(claim())) {
    for (std::size_t i = 0; i < index; ++i) {
      if (at_.words.owner_of(line[i].name) == stands_beside) beside = i;
    }
  }
  const watch_decision seen = look_ahead(line, index, me->demand, beside);
  if (refuse_upgrade(seen)) return;
  if (seen.granted) return hold();
  if (!claim().wait) return busy();
  if (index >= line_longest) {
    return refuse(at_.words.make_error(
        errc::queue_full, "the line of '" + name().str() + "' has reached its cap of " +
                              std::to_string(line_longest) + " waiters"));
  }
  watch(line[seen.watches].name, seen);
}

/// Two upgrading readers would deadlock.
bool asking_line::refuse_upgrade(const watch_decision& seen) {
  if (!seam::is_upgrade(claim())) return false;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return true;  // the one that has followed it judges
    if (std::exchange(mine_->upgrade_judged, true)) return false;
  }
  if (!seen.upgrade_conflict) return false;
  refuse(at_.words.make_error(errc::upgrade_conflict,
                              "another exclusive claim on '" + name().str() +
                                  "' was first; release the shared hold and acquire anew"));
  return true;
}

void asking_line::watch(std::string_view whom, const watch_decision& seen) {
  const std::string path = node_in(whom);
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    at_.table.watch(mine_, path);
  }
  const time_point now = at_.clock.now();
  const bool shares = claim().mode == claim_mode::shared;
  std::vector<sent> all;
  all.push_back({read(path, true), [this, now, seen, shares](response& said) {
                   if (said.no_node()) return list();  // gone between listing and watching
                   if (!said.ok()) return fail(said, "watch the line of '" + name().str() + "'");
                   {
                     const seam::lock_guard guard{at_.table.mutex};
                     const hint worth = worth_of(seen, at_.words.is_ours(said.data), shares);
                     mine_->word_counts = worth.written_lets_in;
                     mine_->alone_before = worth.gone_lets_in;
                   }
                   in_line(now);
                 }});
  send(std::move(all));
}

}  // namespace crosslock::session
