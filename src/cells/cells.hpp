// The core's way to a cell: requests that are tried again, and waiting until one has changed.
#pragma once

#include "client/core.hpp"

#include <crosslock/error.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace crosslock::inner {

/// A call that waits, and how the server has served it.
struct cell_wait {
  seam::name_ref name;
  time_point began{};
  bool answered = false;
  outage trouble{};
};

/// How long a call goes on, and what ends it early.
struct patience {
  time_point end = time_point::max();
  std::stop_token stop{};
  cell_wait* wait = nullptr;  ///< none: a call that does not wait

  bool over(const seam::clock& clock) const { return stop.stop_requested() || clock.now() >= end; }
};

/// Until when a wait lasts: here zero means "now", and not one try.
patience patience_of(const core& home, duration wait, std::stop_token stop);

/// A thread that rests for a while, unless the cell is written, somebody stops it, or the client is
/// closed. Without a name no cell disturbs it. One thread, which also destroys it.
class cell_watch {
 public:
  cell_watch(core& home, std::string_view name, std::stop_token stop);
  ~cell_watch();
  cell_watch(const cell_watch&) = delete;
  cell_watch& operator=(const cell_watch&) = delete;

  /// Grows with every piece of news. Take it before the look that news may overtake.
  std::uint32_t news() const noexcept { return word_.load(); }
  void rest(std::uint32_t seen, time_point until);

 private:
  core& home_;
  const std::string_view name_;
  const std::stop_token stop_;
  seam::park_word word_{0};
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

/// Thrown when a wait has been stopped, or its time is up, while requests fail, and that is no
/// outage: the server has answered meanwhile, or was silent for less than one request may take.
struct out_of_time {};

/// Notes what a request failed with, and rests until the next try. Throws it, or out_of_time, if
/// there is none.
void rest_after_failure(core& home, const patience& limit, outage& trouble, const error& why);

/// Makes a request, and again when it fails, as options::retry says. `request(give_up)`.
template <class Request>
auto insist(core& home, const patience& limit, const Request& request) {
  constexpr duration least = std::chrono::milliseconds{100};  // to succeed at all: two round trips
  outage own;
  outage& trouble = limit.wait ? limit.wait->trouble : own;
  for (;;) {
    home.check_usable();
    const time_point now = home.clock().now();
    try {
      auto answer = request(std::min(home.give_up(), std::max(limit.end, now + least)));
      if (limit.wait) limit.wait->answered = true;
      if (limit.wait && trouble.failures > 0) home.tell_trouble(*limit.wait->name, {});
      trouble = {};
      return answer;
    } catch (const error& why) {
      rest_after_failure(home, limit, trouble, why);
    }
  }
}

/// One cell, for one client. Thread-safe; nothing in it changes after construction. Every call
/// throws `closed` and `forked`, and what the engine throws once the retries are used up.
class cell_access {
 public:
  /// Throws `unsupported` where the engine has no cells. `name`: with the client's prefix.
  cell_access(std::shared_ptr<core> home, seam::name_ref name);

  seam::cell read(const patience& limit = {}) const;
  /// Who holds the lock of the same name.
  lock_info look(const patience& limit = {}) const;

  struct swapped {
    seam::swap_answer answer;
    /// Not written by the last try; but an earlier one ended so, and may have written.
    std::optional<error> doubt{};
  };
  /// One write, under one writer's id over all its tries.
  swapped swap(std::uint64_t expected, const std::string& value, fence token = {},
               const patience& limit = {}) const;

  enum class erased { gone, changed, shut_out };
  /// Removes the cell, with all it remembers; `gone` also where there is none. Empty `expected`: at
  /// whatever version it is. Throws with `outcome_unknown()` when somebody has written behind a try
  /// that was not answered: that may have been behind the erasure.
  erased erase(std::optional<std::uint64_t> expected, fence token = {},
               const patience& limit = {}) const;
  std::optional<seam::cell> open(fence token, const patience& limit = {}) const;

  /// What to write in place of this; empty: nothing. The doubt is that of the last try, if any:
  /// whoever cannot see from the value whether it has been counted must not write again.
  using decision =
      std::function<std::optional<std::string>(const seam::cell& now, const error* doubt)>;
  struct altered {
    enum class how { written, left_alone, ran_out };

    how ended = how::left_alone;
    seam::cell now;  ///< as it was seen last, or written
    std::uint64_t retries = 0;
  };
  /// Writes what is decided, again and again until nobody was quicker, or out of patience or
  /// tries. `known`: what the caller has just read.
  altered alter(const decision& decide, const patience& limit = {},
                std::optional<seam::cell> known = std::nullopt,
                std::uint64_t tries = UINT64_MAX) const;

  struct fenced {
    bool accepted = false;
    std::uint64_t version = 0;  ///< of this or another write: expect it next time
  };
  /// Writes under a fence, whatever the same or an older one has written before. Refused, and the
  /// observer told, when a newer one was here. `expected`: the version seen last; 0: none.
  fenced write(fence token, const std::string& value, std::uint64_t expected,
               const patience& limit = {}) const;

  struct awaited {
    seam::cell now;
    bool enough = false;  ///< else it was stopped, or out of time
  };
  /// Waits until `enough(cell)`: told by the engine where it can, and looking now and then. Comes
  /// back at `pause` too, when the caller has something else to look at; a request that has failed
  /// by then is tried again all the same.
  awaited wait(const std::function<bool(const seam::cell&)>& enough, const patience& limit,
               time_point pause = time_point::max()) const;

  /// What a call that waits for this cell begins with; the patience refers to it.
  cell_wait begin_wait() const {
    return {.name = name_, .began = home_->clock().now(), .answered = false, .trouble = {}};
  }

  /// The observer hears of a fence that was refused.
  void tell_refused(fence shown, fence highest) const noexcept;

  core& home() const noexcept { return *home_; }
  const std::shared_ptr<core>& shared_home() const noexcept { return home_; }
  const seam::name_ref& name() const noexcept { return name_; }

 private:
  swapped swap(seam::cell_swap wanted, const patience& limit) const;
  void pause_behind(std::uint64_t tries, const patience& limit) const;
  duration next_look(std::uint64_t looks) const;

  const std::shared_ptr<core> home_;
  const seam::name_ref name_;
};

/// Says of a failed request that it may have been carried out, whatever came after it.
[[noreturn]] void throw_in_doubt(const lock_name& name, const error& why);

}  // namespace crosslock::inner
