// The steps of a request, for tests that kill, freeze or hinder a process exactly there. A program
// that sets no hook pays one relaxed load for each.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

namespace crosslock::sqlite {

enum class step {
  called,     ///< a verb was called; nothing has happened yet
  gate,       ///< first in the line of writers
  begun,      ///< the write transaction is open
  written,    ///< every row is written, nothing is committed
  committed,  ///< durable as far as promised; nobody else has been told
  told,       ///< those whom it concerns were woken
  answering,  ///< the verb is about to return its answer
};
inline constexpr std::array<std::string_view, 7> step_names{
    "called", "gate", "begun", "written", "committed", "told", "answering"};

/// Which verb of the seam is on its way.
enum class verb { ask, withdraw, renew, release, adopt, detach, break_lock, cell, connect, close };
inline constexpr std::array<std::string_view, 10> verb_names{
    "ask",    "withdraw",   "renew", "release", "adopt",
    "detach", "break_lock", "cell",  "connect", "close"};

/// What a test may put in the way.
class hindrance {
 public:
  virtual ~hindrance() = default;
  /// May kill or stop the process. At `called` and `answering` it may throw crosslock::error.
  virtual void reached(step, verb) {}
  /// True: the wake-up of another client is not sent.
  virtual bool mute() { return false; }
};

inline std::atomic<hindrance*> hindered_by{nullptr};

inline void reach(step where, verb what) {
  if (hindrance* const test = hindered_by.load(std::memory_order_relaxed))
    test->reached(where, what);
}

}  // namespace crosslock::sqlite
