// What every kind of lock object has: a client, a name, and the local line of that name.
#pragma once

#include "client/core.hpp"

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

  std::shared_ptr<critical_section> acquire(const acquire_how& how, time_point end,
                                            seam::demand demand = {}) const {
    return line()->acquire(make_request(how, end, demand));
  }

  /// Empty when busy, out of time or stopped.
  std::optional<hold> try_acquire(const acquire_how& how, time_point end,
                                  seam::demand demand = {}) const {
    auto entered = acquire(how, end, demand);
    return entered ? std::optional<hold>{std::move(entered)} : std::nullopt;
  }

  /// Waits until it is granted.
  hold acquire_or_throw(const acquire_how& how, seam::demand demand = {}) const {
    auto entered = acquire(how, time_point::max(), demand);
    if (entered) return hold{std::move(entered)};
    throw error{errc::cancelled, "the wait for '" + name().str() + "' was stopped"};
  }

  void acquire_async(acquire_callback done, const acquire_how& how,
                     const std::optional<duration>& wait, seam::demand demand = {},
                     continuation_executor executor = {}) const {
    acquire_async_until(std::move(done), how, end_of_wait(wait), demand, std::move(executor));
  }
  void acquire_async_until(acquire_callback done, const acquire_how& how, time_point end,
                           seam::demand demand, continuation_executor executor = {}) const {
    acquire_request wanted = make_request(how, end, demand);
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
  acquire_request make_request(const acquire_how& how, time_point end, seam::demand demand) const {
    acquire_request made = core_->make_request(how, end, demand);
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
                                          std::optional<duration> wait, seam::demand demand = {}) {
  return acquisition<hold>{acquire_plan<hold>{.lock = std::move(lock),
                                              .how = std::move(how),
                                              .wait = wait,
                                              .mode = demand.mode,
                                              .permits = demand.permits,
                                              .of = demand.of}};
}

}  // namespace crosslock::inner
