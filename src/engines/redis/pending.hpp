// A request that has been asked and not yet been answered: the slot where its answer will be.
#pragma once

#include "engine/parting.hpp"
#include "engine/seat.hpp"
#include "engines/redis/reply.hpp"

#include <crosslock/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace crosslock::redis {

/// Guarded by the connection's mutex until it is completed; then its caller's alone. Used again and
/// again: what it points to stays allocated.
struct pending {
  seam::passenger caller;    ///< served: answered, or failed
  std::size_t expected = 1;  ///< answers to come
  std::size_t got = 0;
  std::vector<reply> answers;  ///< the first `got` of them are filled
  std::optional<error> failure;
  bool abandoned = false;  ///< its caller has gone: whatever comes is thrown away
  time_point asked{};
  time_point give_up{};
  std::function<void(const reply*, const error*)> done;  ///< set: nobody is parked here
  seam::parting_ref posted;  ///< a release: the same, and its answer is in no hurry

  bool is_waited_for() const noexcept { return !abandoned && !done && !posted; }
};

/// First in, first out, without allocating once it is as long as it gets.
class pending_queue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  pending& front() noexcept { return *ring_[first_]; }
  pending& operator[](std::size_t index) noexcept {
    return *ring_[(first_ + index) & (ring_.size() - 1)];
  }
  std::size_t room() const noexcept { return ring_.size(); }
  /// So that the next push() cannot fail.
  void make_room() {
    if (size_ == ring_.size()) grow();
  }
  void push(pending& last) noexcept { ring_[(first_ + size_++) & (ring_.size() - 1)] = &last; }
  /// As push().
  void push_front(pending& first) noexcept {
    first_ = (first_ + ring_.size() - 1) & (ring_.size() - 1);
    ring_[first_] = &first;
    ++size_;
  }
  void pop() noexcept {
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
  }

 private:
  void grow() {
    std::vector<pending*> wider(ring_.empty() ? 16 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) wider[i] = &(*this)[i];
    ring_.swap(wider);
    first_ = 0;
  }

  std::vector<pending*> ring_;  ///< its length is a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace crosslock::redis
