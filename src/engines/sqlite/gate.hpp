// Where the writers of all processes queue, so that none of them meets SQLite's busy handler, which
// sleeps and guesses.
#pragma once

#include "engine/clock.hpp"
#include "engines/sqlite/wake_file.hpp"

#include <functional>

namespace crosslock::sqlite {

/// A hint like everything in the mapped file: SQLite's own lock decides who writes. Whoever dies or
/// freezes in the gate is passed by: a gate in which nothing has moved for a while is open to
/// anybody who finds that SQLite lets him in.
class gate {
 public:
  gate(gate_words& words, seam::clock& clock) : words_{words}, clock_{clock} {}

  enum class admission {
    our_turn,  ///< nobody of ours is in the way: begin
    begun,     ///< past one who is stuck, and SQLite's lock is ours already
    too_late,  ///< `give_up` came first
  };
  /// `begin_at_once` tries for SQLite's lock without waiting, and keeps it when it gets it.
  admission enter(time_point give_up, const std::function<bool()>& begin_at_once);
  /// Without waiting; false: somebody is in it, or on the way.
  bool enter_if_open() noexcept { return take_if_open(taken); }
  /// After any entry but one that was too late.
  void leave() noexcept;

 private:
  enum state : std::uint32_t { open, taken, contended, reserved };

  bool take_if_open(std::uint32_t as) noexcept;

  gate_words& words_;
  seam::clock& clock_;
};

}  // namespace crosslock::sqlite
