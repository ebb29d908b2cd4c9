// What every kind of lock object has: a client, a name, and the local line of that name.
#pragma once

#include "local/core.hpp"

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace crosslock::inner {

/// Thread-safe; nothing in it changes after construction.
class acquirer {
 public:
  /// `among_readers`: of a lock that others share.
  acquirer(const client& locks, std::string_view name, bool among_readers = false)
      : core_{locks.core()},
        name_{core_->full_name(name)},
        given_name_{core_->given_name(name_)},
        among_readers_{among_readers} {
    core_->check_usable();
    if (!core_->settings().strict_fifo) line_ = core_->line_for(name_);
  }

  std::shared_ptr<section> acquire(const acquire_how& how, time_point end,
                                   seam::wish want = {}) const {
    core_->check_usable();
    return line()->acquire(make_wish(how, end, want));
  }

  /// Empty when busy, out of time or stopped.
  std::optional<hold> try_acquire(const acquire_how& how, time_point end,
                                  seam::wish want = {}) const {
    auto section = acquire(how, end, want);
    return section ? std::optional<hold>{std::move(section)} : std::nullopt;
  }

  /// Waits until it is granted.
  hold acquire_or_throw(const acquire_how& how, seam::wish want = {}) const {
    auto section = acquire(how, time_point::max(), want);
    if (section) return hold{std::move(section)};
    throw error{errc::timed_out, "the wait for '" + name().str() + "' was stopped"};
  }

  void acquire_async(acquire_callback done, const acquire_how& how,
                     const std::optional<duration>& wait, seam::wish want = {},
                     continuation_executor executor = {}) const {
    acquire_async_until(std::move(done), how, end_of_wait(wait), want, std::move(executor));
  }
  void acquire_async_until(acquire_callback done, const acquire_how& how, time_point end,
                           seam::wish want, continuation_executor executor = {}) const {
    core_->check_usable();
    wish wanted = make_wish(how, end, want);
    wanted.executor = std::move(executor);
    line()->acquire_async(wanted, std::move(done));
  }

  /// With strict_fifo every acquire stands in the server's line by itself.
  std::shared_ptr<inner::line> line() const { return line_ ? line_ : core_->own_line(name_); }

  /// No wait: for ever. Throws `invalid_lease` for a negative one.
  time_point end_of_wait(const std::optional<duration>& wait) const {
    return wait ? core_->end_of(*wait) : time_point::max();
  }
  /// The standard's timed calls take a negative wait for "try".
  time_point end_of_standard_wait(duration wait) const {
    return core_->end_of(wait < duration::zero() ? duration::zero() : wait);
  }

  void report_release(release_result result) const noexcept {
    if (core_->inherited_by_fork() || !core_->observer()) return;
    core_->observer()->released(
        {.name = name_->view(), .owner = {}, .fence = {}, .result = result, .held = {}});
  }

  inner::core& core() const noexcept { return *core_; }
  const lock_name& name() const noexcept { return *given_name_; }
  const lock_name& full_name() const noexcept { return *name_; }  ///< with the client's prefix

 private:
  wish make_wish(const acquire_how& how, time_point end, seam::wish want) const {
    wish made = core_->make_wish(how, end, want);
    made.among_readers = among_readers_;
    return made;
  }

  std::shared_ptr<inner::core> core_;
  seam::name_ref name_;
  seam::name_ref given_name_;
  bool among_readers_ = false;
  std::shared_ptr<inner::line> line_;  // null with strict_fifo
};

inline acquisition<hold> describe_acquire(std::shared_ptr<const acquirer> lock, acquire_how how,
                                          std::optional<duration> wait, seam::wish want = {}) {
  return acquisition<hold>{acquire_plan<hold>{.lock = std::move(lock),
                                              .how = std::move(how),
                                              .wait = wait,
                                              .mode = want.mode,
                                              .permits = want.permits,
                                              .of = want.of}};
}

}  // namespace crosslock::inner
