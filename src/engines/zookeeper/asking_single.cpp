// The lock that everybody writes first. Kept to show what it costs: each release wakes everybody,
// and whoever is quickest gets it.
#include "engines/zookeeper/asking_kinds.hpp"

#include <utility>

namespace crosslock::zookeeper {

void asking_single::make() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = true;
  }
  std::vector<sent> all;
  all.push_back({words().place_for(*mine_), [this](response& said) {
                   if (said.no_node()) return make_parents();
                   if (said.exists_already()) return see();
                   if (!said.ok()) {
                     if (!said.cut_off()) {
                       const seam::lock_guard guard{at_.table.mutex};
                       mine_->sent = false;
                     }
                     return fail_below(mine_->name_path.substr(0, mine_->name_path.rfind('/')),
                                       said);
                   }
                   take_node(said.path, said.facts);
                   hold();
                 }});
  send(std::move(all));
}

void asking_single::look() { see(); }

/// A server that lags behind would show the node before ours, and ours would be forgotten: what was
/// sent on an earlier connection is carried out before this, or never.
void asking_single::find() {
  std::vector<sent> all;
  all.push_back({sync(mine_->name_path), [this](response& said) {
                   if (!said.ok()) return fail(said, "look at '" + name().str() + "'");
                   see();
                 }});
  send(std::move(all));
}

void asking_single::see() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    if (claim().wait) at_.table.watch(mine_, mine_->name_path);
    mine_->alone_before = false;
    mine_->word_counts = false;
  }
  const time_point now = at_.clock.now();
  std::vector<sent> all;
  all.push_back({read(mine_->name_path, claim().wait), [this, now](response& said) {
                   if (said.no_node()) return make();
                   if (!said.ok()) return fail(said, "look at '" + name().str() + "'");
                   if (said.facts.owner == 0) {
                     return refuse(make_error(errc::conflict,
                                              "'" + name().str() +
                                                  "' is used with strategy=line, or is somebody "
                                                  "else's node: use one strategy per name"));
                   }
                   if (words().holds(*mine_, said)) {
                     take_node(mine_->name_path, said.facts);
                     return hold();
                   }
                   {
                     const seam::lock_guard guard{at_.table.mutex};
                     mine_->sent = false;
                     mine_->node.clear();
                   }
                   if (!claim().wait) return busy();
                   in_line(now);
                 }});
  send(std::move(all));
}

}  // namespace crosslock::zookeeper
