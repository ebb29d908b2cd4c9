// Other libraries' nodes that do not know what a claim of ours is: whoever made them would go in
// beside us. They show themselves by their names, but so may names below ours and claims of our own
// kind: so those that look so are read.
#include "engines/zookeeper/asking_kinds.hpp"

#include <memory>
#include <utility>

namespace crosslock::zookeeper {
namespace {

/// Whoever mixes libraries by mistake does so all the time: a few show it.
constexpr std::size_t suspects_most = 16;

}  // namespace

template <class Way>
void wary<Way>::unless_strangers(const name_list& names, std::function<void()> go_on) {
  const auto& words = static_cast<const nodes&>(this->at_.words);
  const auto found = std::make_shared<std::string>();
  std::vector<typename Way::sent> all;
  for (const std::string_view child : names) {
    const std::string_view what = words.stranger(this->claim(), child);
    if (what.empty()) continue;
    all.push_back({read(below(this->mine_->name_path, child)), [found, what](response& said) {
                     // One of a session, for names below are not; and not ours.
                     const bool strange =
                         said.ok() && said.facts.owner != 0 && !read_inscription(said.data);
                     if (strange) *found = what;
                   }});
    if (all.size() == suspects_most) break;
  }
  if (all.empty()) return go_on();
  all.back().then = [this, found, go_on = std::move(go_on),
                     last = all.back().then](response& said) {
    last(said);
    if (said.cut_off()) return this->fail(said, "look at the line of '" + this->name().str() + "'");
    if (found->empty()) return go_on();
    this->refuse(make_error(errc::conflict, "'" + this->name().str() + "' is in use by " + *found));
  };
  this->send(std::move(all));
}

template class wary<asking>;
template class wary<asking_line>;

}  // namespace crosslock::zookeeper
