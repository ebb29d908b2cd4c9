// The lock that everybody writes first. Kept to show what it costs: each release wakes everybody,
// and whoever is quickest gets it.
#include "engines/zookeeper/asking_kinds.hpp"
#include "engines/zookeeper/path.hpp"

#include <utility>

namespace crosslock::zookeeper {

std::vector<request> asking_single::parents() const {
  std::vector<request> all;
  std::vector<std::string> paths = ancestors(mine_->place);
  paths.pop_back();
  for (std::string& each : paths) {
    all.push_back(create(std::move(each), {}, node_life::container, rights::shared));
  }
  if (all.empty()) all.push_back(sync("/"));
  return all;
}

void asking_single::make() {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = true;
  }
  std::vector<sent> all;
  all.push_back(
      {create(mine_->place, at_.inscription_of(*mine_), node_life::ephemeral, rights::own_node),
       [this](response& said) {
         if (said.no_node()) return make_parents();
         if (said.exists_already()) return see(true);
         if (!said.ok()) {
           if (!said.cut_off()) {
             const std::lock_guard guard{at_.table.mutex};
             mine_->sent = false;
           }
           return fail_below(mine_->place.substr(0, mine_->place.rfind('/')), said);
         }
         take_node(said.path, said.facts.born);
         hold();
       }});
  send(std::move(all));
}

void asking_single::look() { see(true); }
void asking_single::find() { see(true); }

void asking_single::see(bool make_when_gone) {
  {
    const std::lock_guard guard{at_.table.mutex};
    if (over()) return;
    if (claim().wait) at_.table.watch(mine_, mine_->place);
    mine_->alone_before = false;
    mine_->word_counts = false;
  }
  const time_point now = at_.clock.now();
  std::vector<sent> all;
  all.push_back({read(mine_->place, claim().wait), [this, now, make_when_gone](response& said) {
                   if (said.no_node() && make_when_gone) return make();
                   if (!said.ok()) return fail(said, "look at '" + name().str() + "'");
                   if (said.facts.owner == 0) {
                     return refuse(make_error(errc::conflict,
                                              "'" + name().str() +
                                                  "' is used with strategy=line, or is somebody "
                                                  "else's node: use one strategy per name"));
                   }
                   const auto words = read_inscription(said.data);
                   if (words && words->mark == claim().owner.to_string() &&
                       said.facts.owner == at_.wire.now().id) {
                     take_node(mine_->place, said.facts.born);
                     return hold();
                   }
                   {
                     const std::lock_guard guard{at_.table.mutex};
                     mine_->sent = false;
                     mine_->node.clear();
                   }
                   if (!claim().wait) return busy();
                   in_line(now);
                 }});
  send(std::move(all));
}

}  // namespace crosslock::zookeeper
