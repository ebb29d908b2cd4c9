// Words change under the mutex, because their threads may be gone afterwards.
#include "client/cell_watches.hpp"

namespace crosslock::inner {

void cell_watches::add(std::string_view name, seam::park_word& word) {
  const seam::lock_guard guard{mutex_};
  words_.emplace(key{name, ++numbers_}, &word);
}

void cell_watches::remove(std::string_view name, const seam::park_word& word) noexcept {
  const seam::lock_guard guard{mutex_};
  for (auto at = words_.lower_bound({name, 0}); at != words_.end(); ++at) {
    if (at->second == &word) {
      words_.erase(at);
      return;
    }
  }
}

std::uint64_t cell_watches::last_number() noexcept {
  const seam::lock_guard guard{mutex_};
  return numbers_;
}

seam::park_word* cell_watches::change_next(const lock_name& name, std::uint64_t& number,
                                           std::uint64_t last) noexcept {
  const seam::lock_guard guard{mutex_};
  const auto next = words_.upper_bound({name.view(), number});
  if (next == words_.end() || next->first > key{name.view(), last}) return nullptr;
  number = next->first.second;
  next->second->fetch_add(1);
  return next->second;
}

std::vector<seam::park_word*> cell_watches::all_changed() {
  std::vector<seam::park_word*> roused;
  const seam::lock_guard guard{mutex_};
  for (const auto& [where, word] : words_) {
    word->fetch_add(1);
    roused.push_back(word);
  }
  return roused;
}

}  // namespace crosslock::inner
