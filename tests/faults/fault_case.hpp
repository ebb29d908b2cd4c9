// What the cases of the fault suite have in common: a database, processes, and the checker.
//
// Cases are called by their row of the fault matrix (README.md). Leases are a second, so that
// waiting for them is bearable; what must last has a longer one.
#pragma once

#include "checker/invariants.hpp"
#include "conformance/fixtures/sqlite_scene.hpp"
#include "conformance/witness.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::faults {

using namespace std::chrono_literals;
using conformance::real_actor;
using conformance::sleep_for_real;
using conformance::witnessed;

inline constexpr duration lease = 1s;
inline constexpr duration long_lease = 30s;
/// How late a busy machine may make us notice what has happened in time.
inline constexpr duration stall = 500ms;
/// From a holder's death until the next is in: the engine's promise.
inline constexpr duration seen_dead = 300ms;
/// From the end of a lease until the next is in.
inline constexpr duration after_lease = 250ms + stall;
/// How often a waiter looks for itself, at the latest.
inline constexpr duration look_cap = 1s + stall;

inline time_point now() { return seam::real_clock().now(); }

template <class Question>
bool eventually(Question&& question, duration within = 20s) {
  const time_point end = now() + within;
  while (!question()) {
    if (now() >= end) return false;
    sleep_for_real(1ms);
  }
  return true;
}

template <class Call>
errc code_of(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

class fault_case : public testing::Test {
 protected:
  conformance::sqlite_scene& scene() { return scene_; }

  /// This process as one that acts, number 0 in the history.
  conformance::surroundings here() {
    return {.proc = 0,
            .clock = &seam::real_clock(),
            .sleep = sleep_for_real,
            .resource = &scene_.numbers(),
            .book = &scene_.book()};
  }
  client connect(duration with_lease = long_lease, options how = {}) {
    how.lease = with_lease;
    return scene_.connect(how);
  }
  std::unique_ptr<real_actor> start(const std::string& name, duration with_lease = lease,
                                    const conformance::how_to_start& how = {}) {
    return scene_.start_process(name, with_lease, how);
  }
  bool line_reaches(const client& eyes, const std::string& name, std::size_t waiters) {
    return eventually([&] { return eyes.look(name).line.size() == waiters; });
  }
  /// When that process says that it holds the name; it was told to acquire it before.
  static time_point in_at(real_actor& who) {
    const std::string said = who.answer();
    const time_point at = now();
    EXPECT_TRUE(said.starts_with("held ")) << said;
    return at;
  }
  static fence fence_in(const std::string& said) {
    EXPECT_TRUE(said.starts_with("held ")) << said;
    return fence{said.starts_with("held ") ? std::stoll(said.substr(5)) : 0};
  }

  struct notice {
    int times = 0;
    time_point when{};
    std::string why;
  };
  static notice ask_notice(real_actor& whom, const std::string& name);

  /// Judges what everybody has written down.
  checker::verdict judge(checker::check_options how = strictness());
  static checker::check_options strictness() {
    return {.calm_bound = look_cap, .after_fault_bound = lease + 5s, .loss_slack = stall};
  }
  /// Nobody holds or waits for anything any more.
  void expect_nothing_left();
  /// SQLite finds nothing wrong with the file.
  void expect_sound();

 private:
  conformance::sqlite_scene scene_;
};

/// The rows of the matrix, for this engine.
class sqlite_faults : public fault_case {};

}  // namespace crosslock::faults
