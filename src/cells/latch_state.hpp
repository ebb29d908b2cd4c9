// What a count_down_latch stores, and how it changes: pure functions.
#pragma once

#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::inner {

/// As text: `latch1 ROUND COUNT`, then `open`, or `ID:COUNTED` for each who has counted in this
/// round. That is how somebody whose answer was lost finds out whether it was heard.
struct latch_state {
  struct share {
    owner_id who;
    std::int32_t counted = 0;

    friend bool operator==(const share&, const share&) = default;
  };

  std::uint64_t round = 0;
  std::int32_t count = 0;  ///< it begins with; 0: nobody has said it yet
  bool open = false;
  std::vector<share> shares;  ///< empty when it is open

  std::int32_t left() const noexcept;
  std::int32_t counted_by(const owner_id& who) const noexcept;

  friend bool operator==(const latch_state&, const latch_state&) = default;
};

std::string to_text(const latch_state& state);
/// Empty text is a latch that nobody has touched. Throws `conflict` for something else than a
/// latch, and `protocol` for a latch that makes no sense.
latch_state read_latch(const lock_name& name, std::string_view text);

/// After `who` has counted down by `n` more, or as far as zero. Not for a latch that is open.
latch_state counted_down(latch_state before, std::int32_t count, const owner_id& who,
                         std::int32_t n);
/// The next round, of any count.
latch_state begun_anew(const latch_state& before);

}  // namespace crosslock::inner
