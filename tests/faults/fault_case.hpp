// What the cases of the fault suite have in common, whatever the engine: a testbed with a server
// and processes, and the checker.
//
// Cases are called by their row of the fault matrix (README.md). Leases are a second, so that
// waiting for them is bearable; what must last has a longer one.
#pragma once

#include "checker/invariants.hpp"
#include "conformance/fixtures/real_actor.hpp"
#include "conformance/witness.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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
/// How often a waiter looks for itself, at the latest.
inline constexpr duration look_cap = 1s + stall;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // memory and descriptors are then used by others than us
#else
constexpr bool sanitized = false;
#endif

/// Of this process.
std::int64_t resident_bytes();

inline time_point now() { return seam::real_clock().now(); }

/// Threads of a case. They are told to stop, and joined, at the end of its scope at the latest,
/// also when the case itself has failed with an exception; one in a thread fails the case, not the
/// run.
class case_threads {
 public:
  void start(std::function<void(std::stop_token)> body) {
    threads_.emplace_back([body = std::move(body)](std::stop_token stop) {
      try {
        body(std::move(stop));
      } catch (const std::exception& why) {
        ADD_FAILURE() << "a thread of the case ended with: " << why.what();
      }
    });
  }
  /// Waits for all of them, until each has ended by itself.
  void join() {
    for (std::jthread& each : threads_) each.join();
    threads_.clear();
  }
  void stop() {
    for (std::jthread& each : threads_) each.request_stop();
    join();
  }

 private:
  std::vector<std::jthread> threads_;
};

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

/// Everything that a client says to people.
struct ears {
  std::mutex mutex{};
  std::string heard{};
  std::function<void(log_level, std::string_view)> log() {
    return [this](log_level, std::string_view text) {
      const std::lock_guard guard{mutex};
      heard.append(text).append("\n");
    };
  }
};

class fault_case : public testing::Test {
 protected:
  static bool line_reaches(const client& viewer, const std::string& name, std::size_t waiters) {
    return eventually([&] { return viewer.look(name).line.size() == waiters; });
  }
  /// When that process says that it holds the name; it was told to acquire it before.
  static time_point in_at(real_actor& who);
  static fence fence_in(const std::string& said);

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
  void expect_nothing_left(duration within = 20s);

  /// Two processes: one holds `name`, the other stands in line for it.
  struct pair {
    std::unique_ptr<real_actor> holder;
    std::unique_ptr<real_actor> next;
    fence first;
  };
  pair holder_and_waiter(const client& viewer, duration of_holder, duration of_next);
  /// Takes and gives back the name as somebody new; its fence.
  fence take_and_release(const std::string& name, duration with_lease);
  /// A request that takes no longer than that, tried once.
  static options impatient(duration timeout) {
    options how;
    how.timeout = timeout;
    how.retry.tries = 0;
    return how;
  }

  /// A client of this process, and another process.
  virtual client reach(options how) = 0;
  virtual std::unique_ptr<real_actor> begin(const std::string& name, duration with_lease) = 0;
  /// This process as one that acts, number 0 in the history.
  virtual conformance::surroundings here() = 0;
  virtual checker::history history() = 0;
  virtual std::vector<std::string> leftovers() = 0;

 private:
  std::size_t expected_overlaps_ = 0;
};

/// With the testbed of one engine.
template <class Testbed>
class fault_case_in : public fault_case {
 protected:
  using how_to_start = typename Testbed::how_to_start;

  template <class... Arguments>
  explicit fault_case_in(Arguments&&... arguments)
      : testbed_{std::forward<Arguments>(arguments)...} {}

  Testbed& testbed() { return testbed_; }

  conformance::surroundings here() override {
    return {.proc = 0,
            .clock = &seam::real_clock(),
            .sleep = sleep_for_real,
            .resource = &testbed_.numbers(),
            .book = &testbed_.book()};
  }
  client connect(duration with_lease = long_lease, options how = {}) {
    how.lease = with_lease;
    return testbed_.connect(how);
  }
  std::unique_ptr<real_actor> start(const std::string& name, duration with_lease = lease,
                                    const how_to_start& how = {}) {
    return testbed_.start_process(name, with_lease, how);
  }
  void note(checker::fault what, const std::string& lock = {}) {
    testbed_.book().nemesis(now(), what, checker::event::nobody, lock);
  }

  client reach(options how) override { return testbed_.connect(std::move(how)); }
  std::unique_ptr<real_actor> begin(const std::string& name, duration with_lease) override {
    return testbed_.start_process(name, with_lease);
  }
  checker::history history() override { return testbed_.history(); }
  std::vector<std::string> leftovers() override { return testbed_.leftovers(); }

 private:
  Testbed testbed_;
};

}  // namespace crosslock::faults
