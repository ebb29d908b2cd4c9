// A grant, and who of this process uses it.
#pragma once

#include "keeper/tenure.hpp"
#include "local/section.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace crosslock::inner {

/// A grant that another one has taken the place of; it is being given back in the background.
struct retired_grant {
  seam::grant grant;
  std::atomic<bool> given_back{false};
};

/// Guarded by the line's mutex. An exclusive or permit grant has one user at a time, a shared one
/// any number.
class tenancy final : public tenure {
 public:
  std::int64_t drawn_fence = 0;  ///< the last one given to a hold
  std::int64_t last_fence = 0;
  std::int64_t more_first = 0;  ///< a further block, reserved by a renewal; 0: none
  std::int64_t more_last = 0;
  bool wanted = false;
  bool listens = false;  ///< the engine was asked to tell
  std::uint32_t passes_while_wanted = 0;
  time_point wanted_since{};
  std::shared_ptr<retired_grant> retired;  ///< an upgrade: the shared grant it came from
  bool giving_back = false;  ///< nobody uses it any more, and its release is on its way

  bool fence_left() const noexcept { return drawn_fence < last_fence || more_first != 0; }
  /// Half of the last block is left: time to reserve another, long before it is needed.
  bool fences_run_low() const noexcept {
    return more_first == 0 && last_fence - drawn_fence < seam::fence_block / 2;
  }
  std::int64_t draw_fence() noexcept {
    if (drawn_fence == last_fence) {
      drawn_fence = std::exchange(more_first, 0) - 1;
      last_fence = more_last;
    }
    return ++drawn_fence;
  }

  section* first_user() const noexcept { return users_; }
  bool used() const noexcept { return users_ != nullptr; }
  bool only_user_is(const section& one) const noexcept {
    return users_ == &one && one.next_user_ == nullptr;
  }
  void add_user(section& one) noexcept {
    one.next_user_ = users_;
    one.link_to_user_ = &users_;
    if (users_) users_->link_to_user_ = &one.next_user_;
    users_ = &one;
  }
  static void remove_user(section& one) noexcept {
    *one.link_to_user_ = one.next_user_;
    if (one.next_user_) one.next_user_->link_to_user_ = one.link_to_user_;
    one.next_user_ = nullptr;
    one.link_to_user_ = nullptr;
  }

 private:
  section* users_ = nullptr;
};

}  // namespace crosslock::inner
