// Words change under the mutex, because their threads may be gone afterwards.
#include "client/cell_watches.hpp"

namespace crosslock::inner {

void cell_watches::add(std::string_view name, seam::park_word& word) {
  const seam::lock_guard guard{mutex_};
  words_.emplace(name, &word);
}

void cell_watches::remove(std::string_view name, const seam::park_word& word) noexcept {
  const seam::lock_guard guard{mutex_};
  const auto [first, last] = words_.equal_range(name);
  for (auto at = first; at != last; ++at) {
    if (at->second == &word) {
      words_.erase(at);
      return;
    }
  }
}

std::vector<seam::park_word*> cell_watches::changed(const lock_name& name) {
  std::vector<seam::park_word*> roused;
  const seam::lock_guard guard{mutex_};
  const auto [first, last] = words_.equal_range(name.view());
  for (auto at = first; at != last; ++at) {
    at->second->fetch_add(1);
    roused.push_back(at->second);
  }
  return roused;
}

std::vector<seam::park_word*> cell_watches::all_changed() {
  std::vector<seam::park_word*> roused;
  const seam::lock_guard guard{mutex_};
  for (const auto& [name, word] : words_) {
    word->fetch_add(1);
    roused.push_back(word);
  }
  return roused;
}

}  // namespace crosslock::inner
