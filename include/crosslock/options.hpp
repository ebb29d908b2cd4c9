// What a client can be told. Everything has a default.
#pragma once

#include <crosslock/observer.hpp>
#include <crosslock/time.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock {

enum class log_level { debug, info, warning, error };

/// How connecting, and a claim whose request failed, are tried again: after `base`, doubling up to
/// `cap`, each time a random part of it, at most `tries` times. Only errors that answer yes to
/// `retryable()`.
struct retry_options {
  duration base = std::chrono::milliseconds{50};
  int tries = 5;
  duration cap = std::chrono::seconds{2};
};

/// How long threads of this process may hand a lock among themselves while others wait for it.
struct pass_options {
  std::uint32_t passes = 32;
  duration time = std::chrono::milliseconds{5};
};

/// Members left empty come from the URL, then from the environment (CROSSLOCK_LEASE,
/// CROSSLOCK_PREFIX), then from the default named beside them.
struct options {
  std::optional<duration> lease{};       ///< renewed every third of it while held; default 30 s
  std::optional<duration> timeout{};     ///< the longest one request may take; default 5 s
  std::optional<std::string> prefix{};   ///< put before every name; default none
  std::optional<duration> max_hold{};    ///< the cap on one hold; default none
  std::optional<duration> look_every{};  ///< the longest a waiter trusts a silent wire; default 1 s
  bool strict_fifo = false;              ///< every thread stands in the server's line by itself
  /// unlock() and the end of a hold wait for the server's answer, for programs that tell others by
  /// other channels that the lock is free (docs/threads.md); also `unlock=waits` in the URL.
  bool unlock_waits = false;
  retry_options retry{};
  pass_options pass{};
  std::string who{};  ///< shown to others beside user@host, pid and program
  /// Where the engine watches processes (sqlite): the pid of the one whose death ends the holds,
  /// such as a guardian that outlives this one and cleans up behind it. 0: this process.
  std::int64_t process = 0;
  /// Silent by default. Called by any thread; what it throws is dropped.
  std::function<void(log_level, std::string_view)> log{};
  std::shared_ptr<crosslock::observer> observer{};
  /// Where continuations of asynchronous acquires run; it must not call them before it returns.
  /// Default: one thread of the client's own, started at the first asynchronous acquire.
  std::function<void(std::function<void()>)> executor{};
};

}  // namespace crosslock
