// Enter together, leave together.
#pragma once

#include <crosslock/client.hpp>
#include <crosslock/wait.hpp>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>
#include <utility>

namespace crosslock {

/// Nobody goes on until all have come: across threads, processes and machines. One object is one
/// member, used by one thread at a time; each thread that takes part has an object of its own. When
/// all have left, the barrier is ready for the next round, with the same members or others.
///
/// | this member is | enter() | leave() | is destroyed |
/// |---|---|---|---|
/// | outside | waits until all parties have entered | throws `not_held` | |
/// | inside | throws `would_deadlock` | waits until all have left, is outside | breaks the round |
/// | inside, round broken | throws `would_deadlock` | throws `broken`, is outside | |
///
/// A round breaks when a member dies, is destroyed inside, or stops waiting: by a stop, the end of
/// its time, or any exception. The others get `broken`: those that wait at the latest when the
/// lease of a dead member has ended, those inside when they leave. They are outside then, and can
/// enter the next round, which begins when all living members of the old one have been told.
///
/// All must mean the same number of parties: while anybody takes part, another one is a `conflict`
/// that names both. Whoever comes when a round is full waits for the next one. Throws `unsupported`
/// where the engine has no shared locks or stores no values.
class barrier {
 public:
  static constexpr std::int32_t parties_max = 10'000;

  /// Throws `conflict` for a number of parties outside of 1 to parties_max.
  barrier(const client& locks, std::string_view name, std::int32_t parties);
  barrier(const client& locks, lock_name name, std::int32_t parties);
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  ~barrier();

  void enter();
  /// False when stopped, or out of time: then this member is outside, and the round, if it had
  /// joined one, is broken.
  [[nodiscard]] bool enter(std::stop_token stop);
  template <class Rep, class Period>
  [[nodiscard]] bool enter_for(const std::chrono::duration<Rep, Period>& wait,
                               std::stop_token stop = {}) {
    return enter_within(wait_time(wait), std::move(stop));
  }

  void leave();
  [[nodiscard]] bool leave(std::stop_token stop);
  template <class Rep, class Period>
  [[nodiscard]] bool leave_for(const std::chrono::duration<Rep, Period>& wait,
                               std::stop_token stop = {}) {
    return leave_within(wait_time(wait), std::move(stop));
  }

  /// Removes what is stored of it, for a barrier that nobody needs any more. False, and nothing
  /// done, while anybody takes part or waits to, this member too, or has died in it so lately that
  /// its lease lasts; who enters at that moment waits for it.
  [[nodiscard]] bool erase();

  std::int32_t parties() const noexcept;
  const lock_name& name() const noexcept;

 private:
  struct state;

  bool enter_within(duration wait, std::stop_token stop);
  bool leave_within(duration wait, std::stop_token stop);

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
