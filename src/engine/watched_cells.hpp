// Which cells this client watches. For engines that are told by a hint which may be lost together
// with the connection: then all of them may have been written.
#pragma once

#include "engine/claim.hpp"
#include "engine/guarded.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace crosslock::seam {

/// Thread-safe.
class watched_cells {
 public:
  /// Before the cell is read: what is told from then on must find it here.
  void note(const lock_name& name, time_point until, time_point now) {
    const seam::lock_guard guard{mutex_};
    if (cells_.size() >= sweep_at_) {
      drop_ended(now);
      sweep_at_ = 64 + 2 * cells_.size();
    }
    auto it = cells_.find(name.view());
    if (it == cells_.end()) {
      const auto shared = std::make_shared<const lock_name>(name);
      it = cells_.emplace(shared->view(), watch{shared, until}).first;
    }
    if (it->second.until < until) it->second.until = until;
  }

  std::vector<name_ref> all(time_point now) {
    std::vector<name_ref> found;
    const seam::lock_guard guard{mutex_};
    drop_ended(now);
    for (const auto& [view, one] : cells_) found.push_back(one.name);
    return found;
  }

  bool any(time_point now) {
    const seam::lock_guard guard{mutex_};
    drop_ended(now);
    return !cells_.empty();
  }

 private:
  struct watch {
    name_ref name;
    time_point until;
  };

  void drop_ended(time_point now) CROSSLOCK_REQUIRES(mutex_) {
    std::erase_if(cells_, [now](const auto& entry) { return entry.second.until <= now; });
  }

  seam::mutex mutex_;
  /// By the name in the watch itself.
  std::map<std::string_view, watch> cells_ CROSSLOCK_GUARDED_BY(mutex_);
  std::size_t sweep_at_ CROSSLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace crosslock::seam
