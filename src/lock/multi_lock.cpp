// Several locks as one: the rich and the standard face over a lock_set.
#include <crosslock/multi_lock.hpp>

#include "lock/lock_set.hpp"
#include "lock/thread_holds.hpp"

#include <algorithm>
#include <utility>

namespace crosslock {

multi_hold::multi_hold(std::unique_ptr<inner::joint> joint) noexcept : joint_{std::move(joint)} {}
multi_hold::multi_hold(multi_hold&& other) noexcept = default;
multi_hold& multi_hold::operator=(multi_hold&& other) noexcept = default;
multi_hold::~multi_hold() = default;  // the joint releases what is still held

std::vector<fence> multi_hold::fences() const {
  return joint_ ? joint_->fences() : std::vector<crosslock::fence>{};
}

std::size_t multi_hold::size() const noexcept { return joint_ ? joint_->size() : 0; }

time_point multi_hold::expires_at() const noexcept {
  return joint_ ? joint_->expires_at() : time_point{};
}

std::stop_token multi_hold::lost() const { return joint_ ? joint_->lost() : std::stop_token{}; }

loss_reason multi_hold::lost_reason() const noexcept {
  return joint_ ? joint_->lost_reason() : loss_reason::none;
}

std::stop_token multi_hold::wanted() const { return joint_ ? joint_->wanted() : std::stop_token{}; }

time_point multi_hold::extend(std::optional<duration> lease) {
  if (!joint_) throw error{errc::not_held, "this hold was moved from"};
  return joint_->extend(lease);
}

bool multi_hold::valid() const noexcept { return joint_ && joint_->valid(); }

void multi_hold::check() const {
  if (!joint_) throw error{errc::not_held, "this hold was moved from"};
  joint_->check();
}

release_result multi_hold::release() noexcept {
  return joint_ ? joint_->release() : release_result::not_held;
}

const std::vector<release_result>& multi_hold::release_results() const noexcept {
  static const std::vector<release_result> none;
  return joint_ ? joint_->results() : none;
}

void inner::acquire_plan<multi_hold>::start(multi_acquire_callback done) {
  const auto from = std::exchange(locks, nullptr);
  if (!from) refuse_second_start();
  from->acquire_async(std::move(done), how, wait, std::move(executor));
}

struct multi_lock::state {
  explicit state(std::span<const element> elements)
      : locks{std::make_shared<inner::lock_set>(elements)} {}

  template <class Question>
  auto ask_hold(Question&& question) {
    locks->parts().front().lock.core().check_usable();
    auto answer = holds.ask(question);
    if (answer) return std::move(*answer);
    throw error{errc::not_held, "this multi_lock is not locked"};
  }

  void refuse_own_thread() {
    locks->parts().front().lock.core().check_usable();
    if (!holds.has_own()) return;
    throw error{errc::would_deadlock,
                "this thread has locked this multi_lock already: unlock it first"};
  }

  const std::shared_ptr<const inner::lock_set> locks;
  inner::thread_holds<multi_hold> holds;
};

namespace {

std::vector<multi_lock::element> of_one_client(const client& locks, const auto& names) {
  std::vector<multi_lock::element> elements;
  for (const auto& each : names) elements.push_back({locks, std::string{each}});
  return elements;
}

}  // namespace

multi_lock::multi_lock(std::span<const element> elements)
    : state_{std::make_unique<state>(elements)} {}
multi_lock::multi_lock(const client& locks, std::span<const std::string> names)
    : multi_lock{std::span<const element>{of_one_client(locks, names)}} {}
multi_lock::multi_lock(const client& locks, std::initializer_list<std::string_view> names)
    : multi_lock{std::span<const element>{of_one_client(locks, names)}} {}
multi_lock::~multi_lock() = default;

bool multi_lock::lock_within(std::optional<duration> wait) {
  state_->refuse_own_thread();
  auto joint = state_->locks->acquire({}, wait);
  if (!joint) return false;
  joint->note_thread(inner::this_thread_token());
  state_->holds.add(multi_hold{std::move(joint)});
  return true;
}

void multi_lock::lock() { lock_within(std::nullopt); }

bool multi_lock::try_lock() { return lock_within(duration::zero()); }

void multi_lock::unlock() noexcept {
  const auto& first = state_->locks->parts().front().lock;
  if (first.core().inherited_by_fork()) return;
  const auto ended = state_->holds.take([](const multi_hold&) { return true; });
  if (!ended) first.report_release(release_result::not_held);
}

std::vector<fence> multi_lock::fences() const {
  return state_->ask_hold([](const multi_hold& held) { return held.fences(); });
}

std::stop_token multi_lock::lost() const {
  return state_->ask_hold([](const multi_hold& held) { return held.lost(); });
}

multi_hold multi_lock::acquire(acquire_how how) {
  auto held = acquire_within(std::nullopt, std::move(how));
  if (held) return std::move(*held);
  throw error{errc::cancelled, "the wait for " + std::to_string(size()) + " locks was stopped"};
}

std::optional<multi_hold> multi_lock::acquire_within(std::optional<duration> wait,
                                                     acquire_how how) {
  auto joint = state_->locks->acquire(how, wait);
  return joint ? std::optional<multi_hold>{std::move(joint)} : std::nullopt;
}

acquisition<multi_hold> multi_lock::async_acquire(acquire_how how, std::optional<duration> wait) {
  return acquisition<multi_hold>{inner::acquire_plan<multi_hold>{
      .locks = state_->locks, .how = std::move(how), .wait = wait, .executor = {}}};
}

std::size_t multi_lock::size() const noexcept { return state_->locks->size(); }

}  // namespace crosslock
