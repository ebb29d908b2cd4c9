// Whether others wait behind a holder. Nobody tells it so: it looks, and watches its line, once it
// passes its grant on within the client. Whoever passes nothing on need not know.
#include "engines/zookeeper/engine.hpp"

namespace crosslock::zookeeper {

void engine::listen_for_wanted(seam::claim_key key) noexcept {
  standing_ref holder;
  {
    const std::lock_guard guard{table_.mutex};
    holder = table_.find(key.owner);
  }
  if (holder) listen_behind(holder);
}

void engine::listen_behind(const standing_ref& holder) {
  std::vector<connection::asked> all;
  all.push_back({children(holder->parent, true),
                 [this, holder](response& said) { hear_behind(holder, said); }});
  try {
    wire_.send(all);
  } catch (const error&) {
    turn_.wanted({*holder->claim.name, holder->claim.owner});  // for all we know
  }
}

void engine::hear_behind(const standing_ref& holder, const response& said) {
  {
    const std::lock_guard guard{table_.mutex};
    if (holder->now != standing::phase::held) return;
    const std::vector<node> line = read_line(said.names);
    const bool last = said.ok() && !line.empty() && line.back().sequence == holder->sequence;
    // The holder's own end is a change of the line as well: no watch stays behind.
    if (last) return table_.listen(holder);
  }
  turn_.wanted({*holder->claim.name, holder->claim.owner});
}

}  // namespace crosslock::zookeeper
