// Who waits in this client for a cell to be written.
#pragma once

#include "engine/guarded.hpp"
#include "keeper/keeper.hpp"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// A table of words to park on, by the name of the cell. Calls nobody: who changes words through it
/// is given them to rouse their threads. Thread-safe.
class cell_watches {
 public:
  /// A watch without a name is only for the end of the client.
  static constexpr std::string_view no_name{};

  /// `name` and `word` stay where they are until remove().
  void add(std::string_view name, seam::park_word& word);
  void remove(std::string_view name, const seam::park_word& word) noexcept;

  /// The next word, behind the one with that number, of a cell that was written: already changed.
  /// Null: that was all, up to the number `last`. One by one, so that news need no memory. A word
  /// may be gone when it is roused: only its address is used.
  seam::park_word* change_next(const lock_name& name, std::uint64_t& number,
                               std::uint64_t last) noexcept;
  /// That of whoever has come last.
  std::uint64_t last_number() noexcept;
  /// Those of all cells, and of no cell.
  std::vector<seam::park_word*> all_changed();

 private:
  /// In the order in which they came: a seed decides everything.
  using key = std::pair<std::string_view, std::uint64_t>;

  seam::mutex mutex_;
  std::map<key, seam::park_word*> words_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t numbers_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace crosslock::inner
