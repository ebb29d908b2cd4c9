// The user's end of a hold. Everything that changes its state goes through the line's mutex.
#include "local/section.hpp"

#include "local/core.hpp"
#include "local/line.hpp"
#include "local/tenancy.hpp"

#include <utility>

namespace crosslock::inner {

section::section(std::shared_ptr<core> core, std::shared_ptr<line> line) noexcept
    : core_{std::move(core)}, line_{std::move(line)} {}

section::~section() {
  if (state_.load() == state::held) release();
}

void section::begin(std::shared_ptr<tenancy> tenancy, crosslock::fence fence,
                    time_point now) noexcept {
  tenancy_ = std::move(tenancy);
  fence_ = fence;
  mode_ = tenancy_->claim.mode;
  since_ = now;
  state_.store(state::held);
}

std::optional<std::stop_source> section::mark_lost(loss_reason reason) {
  const std::lock_guard guard{stop_mutex_};
  lost_.store(reason, std::memory_order_release);
  return stop_;
}

std::stop_token section::lost_token() const {
  if (inherited_by_fork()) core_->check_usable();
  const std::lock_guard guard{stop_mutex_};
  if (!stop_) {
    stop_.emplace();
    if (lost_reason() != loss_reason::none) stop_->request_stop();
  }
  return stop_->get_token();
}

bool section::valid() const noexcept {
  if (inherited_by_fork()) return false;
  if (state_.load(std::memory_order_acquire) != state::held) return false;
  if (lost_reason() != loss_reason::none) return false;
  if (core_->clock().now() < tenancy_->deadline()) return true;
  line_->expire(*this);
  return false;
}

void section::check() const {
  if (valid()) return;
  if (inherited_by_fork()) core_->check_usable();
  if (state_.load() != state::held) {
    throw error{errc::not_held, "'" + name().str() + "' is not held any more"};
  }
  throw error{errc::lost, "the hold of '" + name().str() + "' was lost (" +
                              std::string{to_string(lost_reason())} +
                              "): what its fence protects may have a new owner"};
}

void section::check_again() const {
  // So much more than a tick that a timer interrupt may also come late.
  constexpr duration much = std::chrono::seconds{1};
  const std::int64_t tick = core_->clock().tick();
  const bool sure = tick == checked_tick_ && lost_reason() == loss_reason::none &&
                    state_.load(std::memory_order_acquire) == state::held && !inherited_by_fork();
  if (sure) return;
  check();
  checked_tick_ = tenancy_->deadline() - core_->clock().now() > much ? tick : -1;
}

time_point section::expires_at() const noexcept { return tenancy_->deadline(); }

owner_id section::owner() const noexcept { return tenancy_->claim.owner; }

const lock_name& section::name() const noexcept { return *line_->given_name(); }

const lock_name& section::full_name() const noexcept { return *line_->name(); }

bool section::inherited_by_fork() const noexcept { return core_->inherited_by_fork(); }

release_result section::release() noexcept {
  if (inherited_by_fork()) return release_result::not_held;
  const release_result result = line_->release(*this);
  report_end(result);
  return result;
}

void section::report_end(release_result result) const noexcept {
  if (core_->observer()) {
    core_->observer()->released({.name = full_name().view(),
                                 .owner = tenancy_ ? owner() : owner_id{},
                                 .fence = fence_,
                                 .result = result,
                                 .held = core_->clock().now() - since_});
  }
}

void section::refuse_unless(claim_mode mode, const char* what) const {
  core_->check_usable();
  check();
  if (mode_ == mode) return;
  throw error{errc::conflict, "the hold of '" + name().str() + "' " + what};
}

std::shared_ptr<section> section::upgrade(time_point end, std::stop_token stop) {
  refuse_unless(claim_mode::shared, "is not a shared one: there is nothing to upgrade");
  const duration lease = tenancy_->claim.lease;
  auto next = line_->upgrade(
      *this,
      {.want = {}, .lease = lease, .fixed = tenancy_->fixed, .end = end, .stop = std::move(stop)});
  if (!next) return nullptr;
  // The exclusive grant came beside a shared one that lives: only what is known here can speak
  // against it. What was lost never becomes valid again, whoever was told so may have acted on it.
  if (!valid() || !line_->retire(*this, next->tenancy_.get())) {
    line_->retire(*next);
    next->report_end(release_result::released);
    check();
    throw error{errc::lost, "the shared hold of '" + name().str() + "' was lost meanwhile"};
  }
  report_end(release_result::released);
  // Who listens for the loss of the hold goes on listening.
  std::optional<std::stop_source> lost_already;
  {
    const std::scoped_lock guard{stop_mutex_, next->stop_mutex_};
    next->stop_ = stop_;
    if (next->lost_reason() != loss_reason::none) lost_already = stop_;
  }
  if (lost_already) lost_already->request_stop();
  return next;
}

void section::downgrade() {
  refuse_unless(claim_mode::exclusive, "is not an exclusive one: there is nothing to downgrade");
  line_->downgrade(*this);
}

receipt section::detach() {
  core_->check_usable();
  if (!core_->engine().about().outlives_process) {
    throw error{errc::unsupported,
                "a hold on this engine ends with the process: it cannot be detached",
                {.engine = std::string{core_->engine().about().name}}};
  }
  receipt paper = line_->detach(*this);
  report_end(release_result::detached);
  return paper;
}

}  // namespace crosslock::inner
