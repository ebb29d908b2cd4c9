// The locks of a multi_lock in the order in which everybody takes them.
#pragma once

#include "lock/acquirer.hpp"
#include "lock/joint.hpp"

#include <crosslock/multi_lock.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace crosslock::inner {

/// Thread-safe; nothing in it changes after construction.
class lock_set : public std::enable_shared_from_this<lock_set> {
 public:
  struct part {
    acquirer lock;
    claim_mode mode;
  };

  explicit lock_set(std::span<const multi_lock::element> elements);

  /// Null when busy, out of time or stopped; then nothing is held.
  std::unique_ptr<joint> acquire(const acquire_how& how, const std::optional<duration>& wait) const;
  void acquire_async(multi_acquire_callback done, const acquire_how& how,
                     const std::optional<duration>& wait, continuation_executor executor) const;

  std::size_t size() const noexcept { return indices_.size(); }
  const std::vector<part>& parts() const noexcept { return parts_; }
  /// Which part each given element became.
  const std::vector<std::size_t>& indices() const noexcept { return indices_; }
  /// When a wait that begins now is over, by the clock of each part's client.
  std::vector<time_point> ends_of(const std::optional<duration>& wait) const;

 private:
  std::vector<part> parts_;
  std::vector<std::size_t> indices_;
};

}  // namespace crosslock::inner
