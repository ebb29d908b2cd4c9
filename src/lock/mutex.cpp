// The exclusive lock: the standard face over the local line.
#include <crosslock/mutex.hpp>

#include "lock/standard_face.hpp"

#include <utility>

namespace crosslock {

struct mutex::state : inner::standard_face {
  using standard_face::standard_face;
};

mutex::mutex(const client& locks, std::string_view name)
    : state_{std::make_shared<state>(locks, name)} {}
mutex::mutex(const client& locks, lock_name name) : mutex{locks, name.view()} {}
mutex::~mutex() { state_->let_go(); }

void mutex::lock() { state_->lock_until(time_point::max()); }

bool mutex::try_lock() { return state_->lock_until(inner::acquire_request::no_wait); }

bool mutex::lock_within(duration wait) {
  return state_->lock_until(state_->lock.core().end_of(wait));
}

void mutex::unlock() noexcept { state_->unlock(claim_mode::exclusive); }

fence mutex::fence() const {
  return state_->ask_hold([](const hold& held) { return held.fence(); });
}

std::stop_token mutex::lost() const {
  return state_->ask_hold([](const hold& held) { return held.lost(); });
}

time_point mutex::expires_at() const {
  return state_->ask_hold([](const hold& held) { return held.expires_at(); });
}

bool mutex::valid() const noexcept { return state_->valid(); }

void mutex::check() const { state_->check(); }

hold mutex::acquire(acquire_how how) { return state_->lock.acquire_or_throw(how); }

std::optional<hold> mutex::acquire_until_stopped(std::stop_token stop) {
  return state_->lock.try_acquire({.stop = std::move(stop)}, time_point::max());
}

std::optional<hold> mutex::try_acquire(acquire_how how) {
  return state_->lock.try_acquire(how, inner::acquire_request::no_wait);
}

std::optional<hold> mutex::acquire_within(duration wait, acquire_how how) {
  return state_->lock.try_acquire(how, state_->lock.core().end_of(wait));
}

void mutex::acquire_async(acquire_callback done, acquire_how how, std::optional<duration> wait) {
  state_->lock.acquire_async(std::move(done), how, wait);
}

acquisition<hold> mutex::async_acquire(acquire_how how, std::optional<duration> wait) {
  return inner::describe_acquire({state_, &state_->lock}, std::move(how), wait);
}

const lock_name& mutex::name() const noexcept { return state_->lock.name(); }

}  // namespace crosslock
