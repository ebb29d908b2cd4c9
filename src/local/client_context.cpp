// Connecting, and the two halves of closing: nobody comes in any more, and nobody is left inside.
#include "local/client_context.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace crosslock::inner {

client_context::client_context(inner::settings settings, seam::clock& clock)
    : settings_{std::move(settings)},
      clock_{clock},
      callback_runner_{std::make_unique<inner::callback_runner>(clock, settings_.executor)} {}

void client_context::connect(std::unique_ptr<seam::engine> engine) {
  keeper_ = std::make_unique<inner::keeper>(std::move(engine), clock_, settings_);
}

void client_context::check_usable() const {
  if (inherited_by_fork()) {
    throw error{errc::forked,
                "this client belongs to the parent process: connect again after fork()"};
  }
  if (closed_.load(std::memory_order_relaxed)) {
    throw error{errc::closed, "the client was closed"};
  }
}

time_point client_context::give_up() const noexcept {
  return std::min(clock_.now() + settings_.timeout, closed_by_.load());
}

void client_context::tell_trouble(const lock_name& name, const outage& trouble) const noexcept {
  if (trouble.failures == 0) {
    settings_.say(log_level::info, "'", name.view(), "': the server answers again");
    return;
  }
  if (settings_.observer)
    settings_.observer->retrying(name.view(), *trouble.last, trouble.failures);
  if (trouble.failures > 1) return;  // said once; it may go on for long
  settings_.say(log_level::warning, "'", name.view(),
                "': the wait goes on: ", trouble.last->what());
}

void client_context::claim_ends() noexcept {
  if (claiming_.fetch_sub(1) != 1 || !closed_.load()) return;
  claims_ended_.fetch_add(1);
  clock_.unpark(claims_ended_);
}

bool client_context::begin_closing() noexcept {
  if (closed_.exchange(true)) return false;
  closed_by_.store(clock_.now() + settings_.timeout);
  keeper_->closes_by(closed_by_.load());
  return true;
}

void client_context::finish_closing() noexcept {
  const time_point by = closed_by_.load();
  if (claiming_.load() > 0) engine().post_release({}, by);
  seam::park_unless(clock_, claims_ended_, [&]() -> std::optional<time_point> {
    const bool over = claiming_.load() == 0 || clock_.now() >= by;
    return over ? std::nullopt : std::optional{by};
  });
  keeper_->close(by);
  callback_runner_->close();
}

void client_context::abandon() noexcept {
  keeper_->abandon();
  static_cast<void>(keeper_.release());
  static_cast<void>(callback_runner_.release());
}

}  // namespace crosslock::inner
