// What the lock protects in the simulation: a counter that is read, then written, and refuses
// whoever brings an older token than it has seen. Beside it stands one that does not look at
// tokens, to count what would have been lost without them.
#pragma once

#include "checker/recorder.hpp"

#include <cstdint>
#include <optional>

namespace crosslock::simulation {

/// Only for simulated threads, of which one runs at a time.
class fenced_register {
 public:
  struct reading {
    std::int64_t value;
    std::int64_t unfenced;
  };

  /// Shows the token and reads. Counts itself as an increment, so that the history has it; empty
  /// when refused.
  std::optional<reading> open(const checker::claim_record& who, time_point now) {
    if (!shown(who, now)) return std::nullopt;
    who.wrote(now, ++value_);
    return reading{value_, unfenced_};
  }

  /// Writes one more than was read. False when refused.
  bool write(const checker::claim_record& who, const reading& read, time_point now) {
    ++unfenced_writes_;
    unfenced_ = read.unfenced + 1;
    if (!shown(who, now)) return false;
    value_ = read.value + 1;
    who.wrote(now, value_);
    return true;
  }

  std::int64_t value() const noexcept { return value_; }
  std::int64_t lost_without_fence() const noexcept { return unfenced_writes_ - unfenced_; }

 private:
  bool shown(const checker::claim_record& who, time_point now) {
    if (who.token() < highest_) {
      who.write_refused(now);
      return false;
    }
    highest_ = who.token();
    return true;
  }

  fence highest_{};
  std::int64_t value_ = 0;
  std::int64_t unfenced_ = 0;
  std::int64_t unfenced_writes_ = 0;
};

}  // namespace crosslock::simulation
