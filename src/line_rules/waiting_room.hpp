// Which places in lines this client knows it has. Decides what a pushed grant is worth. For engines
// whose server keeps a line and hands over by pushes.
#pragma once

#include "engine/claim.hpp"
#include "engine/guarded.hpp"
#include "engine/recycling.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crosslock::seam {

/// One entry into a line. Rises with every entry, also over a rollback of the server's state, so
/// that news about an older stay in the same line is never taken for news about this one.
using ticket_number = std::int64_t;

/// A grant that the server sent unasked.
struct pushed_grant {
  name_ref name{};
  owner_id owner{};
  ticket_number ticket = 0;  ///< which stay in the line has ended so
  fence first{};
  fence last{};
  duration lease{};
  bool wanted = false;
};

/// A pushed grant counts from the send time of the last ask that was answered "in line" for the
/// same ticket: the server was asked after that time and handed over later still. A push of any
/// other ticket cannot be counted at all: believing in one can make two holders. Thread-safe.
class waiting_room {
 public:
  enum class worth {
    counts,    ///< a grant, counted from `sent`
    too_soon,  ///< kept: the ask that must confirm its ticket is still on its way
    nothing,   ///< old, or taken up already
    news,      ///< of a stay we were not told of: an ask will find out
    unknown,   ///< nobody here waits for that any more: give it back
  };
  struct verdict {
    worth is = worth::nothing;
    time_point sent{};
  };
  verdict judge(const pushed_grant& grant, time_point now);

  /// An ask that may be put in line goes out; one of the next three must follow.
  void asking(const name_ref& name, const owner_id& owner);
  /// Answered "in line". Returns the grant that came too soon, if this confirms it.
  std::optional<pushed_grant> in_line(const owner_id& owner, ticket_number ticket, time_point sent,
                                      time_point now);
  /// Answered otherwise: it does not wait.
  void not_in_line(const owner_id& owner);
  /// Not answered: what was known before still holds.
  void unanswered(const owner_id& owner);

  /// Withdrawn or released.
  void forget(const owner_id& owner);
  void clear();
  /// Everybody who waits, or may: for when news may have been missed.
  std::vector<pushed_grant> waiting() const;
  std::size_t size() const;        ///< claims in line or asked for
  std::size_t remembered() const;  ///< grants taken of late

 private:
  struct stay {
    name_ref name;
    int asks = 0;              ///< on their way
    ticket_number ticket = 0;  ///< zero: not known to be in line
    time_point sent{};
    bool over = false;  ///< withdrawn or released while an ask was on its way
    std::optional<pushed_grant> early;
  };
  /// Remembered until its offer has ended: a copy of that push must not be given back.
  struct taken {
    ticket_number ticket = 0;
    time_point until{};
  };
  struct hash {
    std::size_t operator()(const owner_id& owner) const noexcept {
      std::size_t bits = 0;
      std::memcpy(&bits, owner.bytes().data(), sizeof bits);  // random already
      return bits;
    }
  };

  bool was_taken(const owner_id& owner, ticket_number ticket) const CROSSLOCK_REQUIRES(mutex_);
  void take(const owner_id& owner, ticket_number ticket, time_point until, time_point now)
      CROSSLOCK_REQUIRES(mutex_);
  /// After an ask has come back: the stay, without it.
  stay& come_back(const owner_id& owner) CROSSLOCK_REQUIRES(mutex_);
  void drop_if_unused(const owner_id& owner) CROSSLOCK_REQUIRES(mutex_);

  mutable seam::mutex mutex_;
  template <class Value>
  using by_owner = std::unordered_map<owner_id, Value, hash, std::equal_to<owner_id>,
                                      recycling<std::pair<const owner_id, Value>>>;

  by_owner<stay> stays_ CROSSLOCK_GUARDED_BY(mutex_);
  by_owner<taken> taken_ CROSSLOCK_GUARDED_BY(mutex_);
  std::size_t sweep_at_ CROSSLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace crosslock::seam
