// A hold is a pointer to its critical section; moving it moves the responsibility.
#include <crosslock/async.hpp>
#include <crosslock/hold.hpp>

#include "local/critical_section.hpp"

#include <utility>

namespace crosslock {

hold::hold(std::shared_ptr<inner::critical_section> entered) noexcept
    : critical_section_{std::move(entered)} {}
hold::hold(hold&& other) noexcept = default;
hold& hold::operator=(hold&& other) noexcept = default;
hold::~hold() = default;  // the critical section gives back what is still held

const lock_name& hold::name() const {
  if (!critical_section_) throw error{errc::not_held, "this hold was moved from"};
  return critical_section_->name();
}

fence hold::fence() const noexcept {
  return critical_section_ ? critical_section_->fence() : crosslock::fence{};
}

owner_id hold::owner() const noexcept {
  return critical_section_ ? critical_section_->owner() : owner_id{};
}

claim_mode hold::mode() const noexcept {
  return critical_section_ ? critical_section_->mode() : claim_mode::exclusive;
}

time_point hold::expires_at() const noexcept {
  return critical_section_ ? critical_section_->expires_at() : time_point{};
}

std::stop_token hold::lost() const {
  return critical_section_ ? critical_section_->lost_token() : std::stop_token{};
}

std::stop_token hold::wanted() const {
  return critical_section_ ? critical_section_->wanted_token() : std::stop_token{};
}

loss_reason hold::lost_reason() const noexcept {
  return critical_section_ ? critical_section_->lost_reason() : loss_reason::none;
}

bool hold::valid() const noexcept { return critical_section_ && critical_section_->valid(); }

void hold::check() const {
  if (!critical_section_) throw error{errc::not_held, "this hold was moved from"};
  critical_section_->check();
}

time_point hold::extend(std::optional<duration> lease) {
  if (!critical_section_) throw error{errc::not_held, "this hold was moved from"};
  return critical_section_->extend(lease);
}

release_result hold::release() noexcept {
  return critical_section_ ? critical_section_->release() : release_result::not_held;
}

void hold::release_async(release_callback done) {
  if (!critical_section_) throw error{errc::not_held, "this hold was moved from"};
  critical_section_->leave(std::move(done));
}

releasing hold::async_release() const noexcept { return releasing{critical_section_}; }

receipt hold::detach() {
  if (!critical_section_) throw error{errc::not_held, "this hold was moved from"};
  return critical_section_->detach();
}

}  // namespace crosslock
