// Who waits in this client for a cell to be written.
#pragma once

#include "engine/guarded.hpp"
#include "keeper/keeper.hpp"

#include <map>
#include <string_view>
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

  /// The words of a cell that was written, already changed. They may be gone when they are roused:
  /// only their addresses are used.
  std::vector<seam::park_word*> changed(const lock_name& name);
  /// Those of all cells, and of no cell.
  std::vector<seam::park_word*> all_changed();

 private:
  seam::mutex mutex_;
  // Ordered: a seed decides everything.
  std::multimap<std::string_view, seam::park_word*> words_ CROSSLOCK_GUARDED_BY(mutex_);
};

}  // namespace crosslock::inner
