// Whoever waits does the work. Of the threads that need one connection, one at a time has its seat
// and drives it for all; the others park until they are served, or have to drive themselves. So a
// lone thread does its round trip without a hop to another one, and many share theirs.
#pragma once

#include "engine/clock.hpp"

#include <cstdint>
#include <utility>

namespace crosslock::seam {

/// One who waits while somebody else drives. Set with the mutex of the seat's owner; after that
/// only its address is used, to unpark it, because it may be gone once it is seen to be served.
class passenger {
 public:
  enum class state : std::uint32_t {
    waits,
    served,
    drives,  ///< the seat is its own
  };

  void begin() noexcept { set(state::waits); }
  void serve() noexcept { set(state::served); }
  state now() const noexcept { return static_cast<state>(word_.load(std::memory_order_acquire)); }
  bool is_served() const noexcept { return now() == state::served; }
  park_word& word() noexcept { return word_; }

  /// Parks until it is served or drives, or until then. Without the mutex. Somebody may set it in
  /// the last moment: who gives up looks once more with the mutex.
  state ride(clock& clock, time_point until) {
    for (;;) {
      const state seen = now();
      if (seen != state::waits || clock.now() >= until) return seen;
      clock.park(word_, static_cast<std::uint32_t>(seen), until);
    }
  }

 private:
  friend class seat;
  void set(state next) noexcept {
    word_.store(static_cast<std::uint32_t>(next), std::memory_order_release);
  }

  park_word word_{0};
};

/// Guarded by the mutex of its owner.
class seat {
 public:
  bool taken() const noexcept { return taken_; }
  /// True: the caller drives from now on, and has to leave it or pass it on.
  bool take() noexcept { return !std::exchange(taken_, true); }
  void leave() noexcept { taken_ = false; }
  /// It stays taken, by that one. Its word is unparked by the caller, without the mutex.
  static park_word& pass_to(passenger& next) noexcept {
    next.set(passenger::state::drives);
    return next.word();
  }

 private:
  bool taken_ = false;
};

}  // namespace crosslock::seam
