// Permits: the same local line, asked for k of n.
#include <crosslock/semaphore.hpp>

#include "lock/acquirer.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace crosslock {

struct semaphore::state {
  state(const client& locks, std::string_view name, std::int32_t permits)
      : lock{locks, name}, of{permits} {
    const seam::traits& about = lock.core().about();
    if (!about.permits) {
      throw error{errc::unsupported,
                  std::string{about.name} + " has no permits: use mutex",
                  {.engine = std::string{about.name}}};
    }
    if (permits < 1) {
      throw error{errc::conflict, "a semaphore of " + std::to_string(permits) + " permits: '" +
                                      lock.name().str() + "' needs at least one"};
    }
  }

  seam::demand demand(std::int32_t count) const {
    if (count < 1 || count > of) {
      throw error{errc::conflict, "'" + lock.name().str() + "' is a semaphore of " +
                                      std::to_string(of) + " permits: it cannot give " +
                                      std::to_string(count)};
    }
    return {.mode = claim_mode::permit, .permits = count, .of = of};
  }

  const inner::acquirer lock;
  const std::int32_t of;
};

semaphore::semaphore(const client& locks, std::string_view name, std::int32_t permits)
    : state_{std::make_shared<state>(locks, name, permits)} {}
semaphore::semaphore(const client& locks, lock_name name, std::int32_t permits)
    : semaphore{locks, name.view(), permits} {}
semaphore::~semaphore() = default;

hold semaphore::acquire(std::int32_t count, acquire_how how) {
  return state_->lock.acquire_or_throw(how, state_->demand(count));
}

std::optional<hold> semaphore::acquire_within(duration wait, std::int32_t count, acquire_how how) {
  const seam::demand demand = state_->demand(count);
  return state_->lock.try_acquire(how, state_->lock.core().end_of(wait), demand);
}

void semaphore::acquire_async(acquire_callback done, std::int32_t count, acquire_how how,
                              std::optional<duration> wait) {
  state_->lock.acquire_async(std::move(done), how, wait, state_->demand(count));
}

acquisition<hold> semaphore::async_acquire(std::int32_t count, acquire_how how,
                                           std::optional<duration> wait) {
  const seam::demand demand = state_->demand(count);
  return inner::describe_acquire({state_, &state_->lock}, std::move(how), wait, demand);
}

std::int32_t semaphore::permits() const noexcept { return state_->of; }

std::int32_t semaphore::available() const {
  const lock_info seen = state_->lock.core().look(name().view());
  if (!seen.line.empty()) return 0;
  std::int32_t left = state_->of;
  for (const claim_info& holder : seen.holders) {
    left -= holder.mode == claim_mode::permit ? holder.permits : left;  // else it is locked
  }
  return std::max(left, 0);
}

const lock_name& semaphore::name() const noexcept { return state_->lock.name(); }

}  // namespace crosslock
