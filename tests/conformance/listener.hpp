// An observer that remembers what it heard.
#pragma once

#include <crosslock/observer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace crosslock::conformance {

/// Thread-safe: observers are called from everywhere.
class listener final : public observer {
 public:
  struct grant_heard {
    crosslock::fence fence;
    acquire_cause cause;
    duration waited;
  };

  void acquired(const acquired_event& event) noexcept override {
    const std::lock_guard guard{mutex_};
    grants_.push_back({event.fence, event.cause, event.waited});
  }
  void waited(std::string_view, wait_result how, duration) noexcept override {
    const std::lock_guard guard{mutex_};
    waits_.push_back(how);
  }
  void renewed(std::string_view, crosslock::fence, renew_result how) noexcept override {
    const std::lock_guard guard{mutex_};
    renewals_.push_back(how);
  }
  void lost(const lost_event& event) noexcept override {
    const std::lock_guard guard{mutex_};
    losses_.push_back(event.reason);
  }
  void released(const released_event& event) noexcept override {
    const std::lock_guard guard{mutex_};
    releases_.push_back(event.result);
  }
  void fence_rejected(std::string_view, crosslock::fence shown,
                      crosslock::fence highest) noexcept override {
    const std::lock_guard guard{mutex_};
    rejected_.push_back({shown, highest});
  }
  void round_trip(verb what, duration) noexcept override {
    const std::lock_guard guard{mutex_};
    ++round_trips_[what];
  }

  /// The fence that was shown, and the highest so far.
  std::vector<std::pair<crosslock::fence, crosslock::fence>> rejected() const {
    return copy(rejected_);
  }
  std::vector<grant_heard> grants() const { return copy(grants_); }
  std::vector<wait_result> waits() const { return copy(waits_); }
  std::vector<renew_result> renewals() const { return copy(renewals_); }
  std::vector<loss_reason> losses() const { return copy(losses_); }
  std::vector<release_result> releases() const { return copy(releases_); }

  std::size_t grants_by(acquire_cause cause) const {
    const auto all = grants();
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](const grant_heard& one) { return one.cause == cause; }));
  }
  std::uint64_t round_trips(verb what) const {
    const std::lock_guard guard{mutex_};
    const auto found = round_trips_.find(what);
    return found == round_trips_.end() ? 0 : found->second;
  }
  std::uint64_t round_trips() const {
    const std::lock_guard guard{mutex_};
    std::uint64_t sum = 0;
    for (const auto& [what, count] : round_trips_) sum += count;
    return sum;
  }

 private:
  template <class T>
  std::vector<T> copy(const std::vector<T>& from) const {
    const std::lock_guard guard{mutex_};
    return from;
  }

  mutable std::mutex mutex_;
  std::vector<grant_heard> grants_;
  std::vector<wait_result> waits_;
  std::vector<renew_result> renewals_;
  std::vector<loss_reason> losses_;
  std::vector<release_result> releases_;
  std::vector<std::pair<crosslock::fence, crosslock::fence>> rejected_;
  std::map<verb, std::uint64_t> round_trips_;
};

}  // namespace crosslock::conformance
