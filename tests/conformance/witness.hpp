// Acquires that are written down for the checker.
#pragma once

#include "conformance/stage.hpp"

#include <crosslock/mutex.hpp>
#include <crosslock/semaphore.hpp>
#include <crosslock/shared_mutex.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace crosslock::conformance {

/// Whoever acts: its number in the history, its time, and what it may touch. A process that was
/// killed writes nothing any more.
struct surroundings {
  std::int32_t proc = 0;
  seam::clock* clock = nullptr;
  std::function<void(duration)> sleep;
  conformance::resource* resource = nullptr;
  checker::recorder* book = nullptr;
  std::function<bool()> alive = [] { return true; };

  time_point now() const { return clock->now(); }
};

surroundings of(stage& stage);

/// A hold with its story. One thread at a time.
class witnessed {
 public:
  witnessed(surroundings where, hold held, checker::claim_record record);
  witnessed(const witnessed&) = delete;
  witnessed& operator=(const witnessed&) = delete;
  ~witnessed();

  hold& held() noexcept { return hold_; }
  /// How often the loss was told, and when last.
  int told() const noexcept { return told_.load(); }
  time_point told_at() const noexcept { return time_point{duration{told_at_.load()}}; }

  /// Goes on holding for so long, or until the loss is told; false then.
  bool work(duration length);
  /// Shows the fence to the resource; false when it refuses.
  bool write(std::int64_t value);
  release_result release();
  /// Writes down that it was renewed, if it was: for whoever holds without working.
  void note_renewal_idly();

  /// The exclusive hold of a shared_mutex becomes shared.
  void downgrade(shared_mutex& lock);
  /// The other way; a new claim in the history. False when it was not in time. An error is recorded
  /// and thrown on.
  bool upgrade(shared_mutex& lock, duration wait, std::stop_token stop = {});

 private:
  void note_renewal();
  void note_renewal(time_point when);
  void note_loss();

  const surroundings where_;
  hold hold_;
  checker::claim_record record_;
  time_point deadline_;
  bool released_ = false;
  std::atomic<int> told_{0};
  std::atomic<duration::rep> told_at_{0};
  std::optional<std::stop_callback<std::function<void()>>> on_loss_;
};

/// Null when busy or out of time. An error is recorded and thrown on.
std::unique_ptr<witnessed> acquire(const surroundings& where, mutex& lock, duration wait,
                                   const acquire_how& how = {}, std::int32_t thread = 0);

std::unique_ptr<witnessed> acquire(const surroundings& where, shared_mutex& lock, claim_mode mode,
                                   duration wait, const acquire_how& how = {},
                                   std::int32_t thread = 0);
std::unique_ptr<witnessed> acquire(const surroundings& where, semaphore& lock, std::int32_t count,
                                   duration wait, const acquire_how& how = {},
                                   std::int32_t thread = 0);

/// Takes up a receipt. Not for a history that is judged: one grant has two holders there.
std::unique_ptr<witnessed> adopt(const surroundings& where, const client& locks,
                                 const receipt& given);

/// So many times: acquire, read, work, write one more, release. How many writes were accepted.
int increment(const surroundings& where, mutex& lock, int times, duration work,
              std::int32_t thread = 0);

}  // namespace crosslock::conformance
