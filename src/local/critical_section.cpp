// The user's end of a hold. Everything that changes its state goes through the line's mutex.
#include "local/critical_section.hpp"

#include "local/client_context.hpp"
#include "local/line.hpp"
#include "local/local_grant.hpp"

#include <utility>

namespace crosslock::inner {

critical_section::critical_section(std::shared_ptr<client_context> home,
                                   std::shared_ptr<line> line) noexcept
    : home_{std::move(home)}, line_{std::move(line)} {}

critical_section::~critical_section() {
  if (state_.load() == state::held) leave();
}

void critical_section::begin(std::shared_ptr<local_grant> grant, crosslock::fence fence,
                             time_point now) noexcept {
  grant_ = std::move(grant);
  fence_ = fence;
  mode_ = grant_->claim.mode;
  since_ = now;
  state_.store(state::held);
}

std::optional<std::stop_source> critical_section::mark_lost(loss_reason reason) {
  const seam::lock_guard guard{stop_mutex_};
  lost_.store(reason, std::memory_order_release);
  return stop_;
}

std::stop_token critical_section::lost_token() const {
  if (inherited_by_fork()) home_->check_usable();
  const seam::lock_guard guard{stop_mutex_};
  if (!stop_) {
    stop_.emplace();
    if (lost_reason() != loss_reason::none) stop_->request_stop();
  }
  return stop_->get_token();
}

void critical_section::tell_loss_to(std::optional<std::stop_source> whole) {
  if (inherited_by_fork()) return;  // the mutex may be locked for ever here
  bool already = false;
  {
    const seam::lock_guard guard{stop_mutex_};
    stop_ = whole;
    already = lost_reason() != loss_reason::none;
  }
  if (already && whole) whole->request_stop();
}

std::stop_token critical_section::wanted_token() {
  if (inherited_by_fork()) home_->check_usable();
  return line_->wanted(*this, std::stop_source{});
}

void critical_section::tell_wanted_to(const std::stop_source& whole) {
  if (inherited_by_fork()) home_->check_usable();
  line_->wanted(*this, whole);
}

bool critical_section::valid() const noexcept {
  if (inherited_by_fork()) return false;
  if (state_.load(std::memory_order_acquire) != state::held) return false;
  if (lost_reason() != loss_reason::none) return false;
  if (home_->clock().now() < grant_->deadline()) return true;
  home_->keeper().lose(*grant_, grant_->fixed ? loss_reason::lease_ended : loss_reason::expired);
  return false;
}

void critical_section::check() const {
  if (valid()) return;
  if (inherited_by_fork()) home_->check_usable();
  if (state_.load() != state::held) {
    throw error{errc::not_held, "'" + name().str() + "' is not held any more"};
  }
  throw error{errc::lost, "the hold of '" + name().str() + "' was lost (" +
                              std::string{to_string(lost_reason())} +
                              "): what its fence protects may have a new owner"};
}

void critical_section::check_again() const {
  // So much more than a tick that a timer interrupt may also come late.
  constexpr duration much = std::chrono::seconds{1};
  const std::int64_t tick = home_->clock().tick();
  const bool sure = tick == checked_tick_ && lost_reason() == loss_reason::none &&
                    state_.load(std::memory_order_acquire) == state::held && !inherited_by_fork();
  if (sure) return;
  check();
  checked_tick_ = grant_->deadline() - home_->clock().now() > much ? tick : -1;
}

time_point critical_section::expires_at() const noexcept { return grant_->deadline(); }

owner_id critical_section::owner() const noexcept { return grant_->claim.owner; }

const lock_name& critical_section::name() const noexcept { return *line_->given_name(); }

const lock_name& critical_section::full_name() const noexcept { return *line_->name(); }

bool critical_section::inherited_by_fork() const noexcept { return home_->inherited_by_fork(); }

release_result critical_section::release() noexcept {
  if (inherited_by_fork()) return release_result::not_held;
  const release_result result = line_->release(*this);
  report_end(result);
  return result;
}

void critical_section::leave() noexcept {
  if (inherited_by_fork()) return;
  if (home_->unlock_waits()) {
    release();
    return;
  }
  const auto result = line_->leave(
      *this, {.report = home_->observer() != nullptr, .fence = fence_, .since = since_});
  if (result) report_end(*result);
}

void critical_section::leave(std::function<void(release_result)> done) {
  home_->check_usable();
  const auto result = line_->leave(
      *this,
      {.report = home_->observer() != nullptr, .fence = fence_, .since = since_, .done = done});
  if (!result) return;
  report_end(*result);
  home_->callback_runner().post([done = std::move(done), result] { done(*result); });
}

void critical_section::report_end(release_result result) const noexcept {
  if (home_->observer()) {
    home_->observer()->released({.name = full_name().view(),
                                 .owner = grant_ ? owner() : owner_id{},
                                 .fence = fence_,
                                 .result = result,
                                 .held = home_->clock().now() - since_});
  }
}

void critical_section::refuse_unless(claim_mode mode, const char* what) const {
  home_->check_usable();
  check();
  if (mode_ == mode) return;
  throw error{errc::conflict, "the hold of '" + name().str() + "' " + what};
}

acquire_request critical_section::upgrade_request(time_point end, std::stop_token stop) const {
  refuse_unless(claim_mode::shared, "is not a shared one: there is nothing to upgrade");
  return {.demand = {},
          .lease = grant_->claim.lease,
          .fixed = grant_->fixed,
          .end = end,
          .stop = std::move(stop),
          .executor = {}};
}

std::shared_ptr<critical_section> critical_section::upgrade(time_point end, std::stop_token stop) {
  auto next = line_->upgrade(*this, upgrade_request(end, std::move(stop)));
  if (next) give_way_to(*next);
  return next;
}

void critical_section::upgrade_async(const std::shared_ptr<critical_section>& shared,
                                     time_point end, const std::stop_token& stop,
                                     std::function<void(std::function<void()>)> where,
                                     acquire_callback done) {
  acquire_request wanted = upgrade_request(end, stop);
  wanted.executor = std::move(where);
  line_->upgrade_async(*this, wanted, [shared, done = std::move(done)](acquire_result result) {
    try {
      if (result.hold) shared->give_way_to(*result.hold->critical_section());
    } catch (...) {
      result = {.hold = std::nullopt, .failure = std::current_exception()};
    }
    done(std::move(result));
  });
}

void critical_section::give_way_to(critical_section& next) {
  // The exclusive grant came beside a shared one that lives: only what is known here can speak
  // against it. What was lost never becomes valid again, whoever was told so may have acted on it.
  if (!valid() || !line_->retire(*this, next.grant_.get())) {
    line_->retire(next);
    next.report_end(release_result::released);
    check();
    throw error{errc::lost, "the shared hold of '" + name().str() + "' was lost meanwhile"};
  }
  report_end(release_result::released);
  next.take_listeners_of(*this);
  line_->hand_on_wanted(*this, next);
}

// Who listens for the loss of the hold goes on listening. One mutex after the other: nobody tells
// the elder of a loss any more, and only this thread gives out its token.
void critical_section::take_listeners_of(const critical_section& elder) {
  std::optional<std::stop_source> listeners;
  {
    const seam::lock_guard guard{elder.stop_mutex_};
    listeners = elder.stop_;
  }
  bool lost_already = false;
  {
    const seam::lock_guard guard{stop_mutex_};
    stop_ = listeners;
    lost_already = lost_reason() != loss_reason::none;
  }
  if (lost_already && listeners) listeners->request_stop();
}

void critical_section::downgrade() {
  refuse_unless(claim_mode::exclusive, "is not an exclusive one: there is nothing to downgrade");
  line_->downgrade(*this);
}

time_point critical_section::extend(const std::optional<duration>& lease) {
  home_->check_usable();
  const duration wanted = lease.value_or(home_->lease());
  seam::refuse_lease(home_->about(), wanted);
  check();
  home_->claim_begins();  // closing waits for it
  try {
    home_->keeper().extend(grant_, wanted, home_->give_up());
  } catch (...) {
    home_->claim_ends();
    throw;
  }
  home_->claim_ends();
  check();
  return expires_at();
}

receipt critical_section::detach() {
  home_->check_usable();
  if (!home_->about().outlives_process) {
    throw error{errc::unsupported,
                "a hold on this engine ends with the process: it cannot be detached",
                {.engine = std::string{home_->about().name}}};
  }
  receipt given = line_->detach(*this);
  report_end(release_result::detached);
  return given;
}

}  // namespace crosslock::inner
