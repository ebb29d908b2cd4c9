// Readers and writers: the same local line, asked for in two modes.
#include <crosslock/shared_mutex.hpp>

#include "lock/standard_face.hpp"

#include <utility>

namespace crosslock {

struct shared_mutex::state : inner::standard_face {
  state(const client& locks, std::string_view name) : standard_face{locks, name, true} {
    const seam::traits& about = lock.core().about();
    if (about.shared) return;
    throw error{errc::unsupported,
                std::string{about.name} + " has no shared locks: use mutex",
                {.engine = std::string{about.name}}};
  }

  inner::critical_section& critical_section_of(
      const std::shared_ptr<inner::critical_section>& entered) const {
    if (!entered) throw error{errc::not_held, "this hold was moved from"};
    if (&entered->home() == &lock.core() && entered->name() == lock.name()) return *entered;
    throw error{errc::conflict, "the hold of '" + entered->name().str() +
                                    "' was not taken from this lock of '" + lock.name().str() +
                                    "'"};
  }
};

shared_mutex::shared_mutex(const client& locks, std::string_view name)
    : state_{std::make_shared<state>(locks, name)} {}
shared_mutex::shared_mutex(const client& locks, lock_name name)
    : shared_mutex{locks, name.view()} {}
shared_mutex::~shared_mutex() { state_->let_go(); }

void shared_mutex::lock() { state_->lock_until(time_point::max()); }

bool shared_mutex::try_lock() { return state_->lock_until(inner::acquire_request::no_wait); }

void shared_mutex::unlock() noexcept { state_->unlock(claim_mode::exclusive); }

void shared_mutex::lock_shared() {
  state_->lock_until(time_point::max(), {.mode = claim_mode::shared});
}

bool shared_mutex::try_lock_shared() {
  return state_->lock_until(inner::acquire_request::no_wait, {.mode = claim_mode::shared});
}

void shared_mutex::unlock_shared() noexcept { state_->unlock(claim_mode::shared); }

bool shared_mutex::lock_within(duration wait, claim_mode mode) {
  return state_->lock_until(state_->lock.end_of_standard_wait(wait), {.mode = mode});
}

fence shared_mutex::fence() const {
  return state_->ask_hold([](const hold& held) { return held.fence(); });
}

std::stop_token shared_mutex::lost() const {
  return state_->ask_hold([](const hold& held) { return held.lost(); });
}

hold shared_mutex::acquire_or_throw(const acquire_how& how, claim_mode mode) {
  return state_->lock.acquire_or_throw(how, {.mode = mode});
}

std::optional<hold> shared_mutex::acquire_within(duration wait, acquire_how how, claim_mode mode) {
  return state_->lock.try_acquire(how, state_->lock.core().end_of(wait), {.mode = mode});
}

void shared_mutex::acquire_async(acquire_callback done, acquire_how how,
                                 std::optional<duration> wait) {
  state_->lock.acquire_async(std::move(done), how, wait);
}

void shared_mutex::acquire_shared_async(acquire_callback done, acquire_how how,
                                        std::optional<duration> wait) {
  state_->lock.acquire_async(std::move(done), how, wait, {.mode = claim_mode::shared});
}

void shared_mutex::downgrade(hold& held) {
  state_->critical_section_of(held.critical_section_).downgrade();
}

void shared_mutex::upgrade(hold& held, std::stop_token stop) {
  auto next = state_->critical_section_of(held.critical_section_)
                  .upgrade(time_point::max(), std::move(stop));
  if (!next) throw error{errc::cancelled, "the upgrade of '" + name().str() + "' was stopped"};
  held.critical_section_ = std::move(next);
}

bool shared_mutex::upgrade_within(hold& held, duration wait, std::stop_token stop) {
  inner::critical_section& shared = state_->critical_section_of(held.critical_section_);
  auto next = shared.upgrade(state_->lock.core().end_of(wait), std::move(stop));
  if (!next) return false;
  held.critical_section_ = std::move(next);
  return true;
}

acquisition<hold> shared_mutex::describe_acquire(acquire_how how, std::optional<duration> wait,
                                                 claim_mode mode) {
  return inner::describe_acquire({state_, &state_->lock}, std::move(how), wait, {.mode = mode});
}

const lock_name& shared_mutex::name() const noexcept { return state_->lock.name(); }

}  // namespace crosslock
