// A hold is a pointer to its critical section; moving it moves the responsibility.
#include <crosslock/hold.hpp>

#include "local/section.hpp"

#include <utility>

namespace crosslock {

hold::hold(std::shared_ptr<inner::section> section) noexcept : section_{std::move(section)} {}
hold::hold(hold&& other) noexcept = default;
hold& hold::operator=(hold&& other) noexcept = default;
hold::~hold() = default;  // the section gives back what is still held

const lock_name& hold::name() const {
  if (!section_) throw error{errc::not_held, "this hold was moved from"};
  return section_->name();
}

fence hold::fence() const noexcept { return section_ ? section_->fence() : crosslock::fence{}; }

owner_id hold::owner() const noexcept { return section_ ? section_->owner() : owner_id{}; }

claim_mode hold::mode() const noexcept {
  return section_ ? section_->mode() : claim_mode::exclusive;
}

time_point hold::expires_at() const noexcept {
  return section_ ? section_->expires_at() : time_point{};
}

std::stop_token hold::lost() const { return section_ ? section_->lost_token() : std::stop_token{}; }

loss_reason hold::lost_reason() const noexcept {
  return section_ ? section_->lost_reason() : loss_reason::none;
}

bool hold::valid() const noexcept { return section_ && section_->valid(); }

void hold::check() const {
  if (!section_) throw error{errc::not_held, "this hold was moved from"};
  section_->check();
}

release_result hold::release() noexcept {
  return section_ ? section_->release() : release_result::not_held;
}

receipt hold::detach() {
  if (!section_) throw error{errc::not_held, "this hold was moved from"};
  return section_->detach();
}

}  // namespace crosslock
