// A grant, and who of this process uses it.
#pragma once

#include "keeper/lease_record.hpp"
#include "local/critical_section.hpp"
#include "local/line_mutex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace crosslock::inner {

class client_context;

/// A grant that another one has taken the place of; it is being given back in the background.
struct retired_grant final : seam::parting {
  seam::grant grant;
  std::atomic<bool> given_back{false};

  const seam::grant& leaving() const noexcept override { return grant; }
  void left(std::optional<seam::release_answer> answer) noexcept override;
};

/// What is said when the release of a hold is answered that nobody waited for.
struct farewell {
  bool report = false;  ///< to the observer
  crosslock::fence fence{};
  time_point since{};
  std::function<void(release_result)> done{};
};

/// An exclusive or permit grant has one user at a time, a shared one any number.
class local_grant final : public lease_record,
                          public seam::parting,
                          public std::enable_shared_from_this<local_grant> {
 public:
  // seam::parting, once its last user has left.
  const seam::grant& leaving() const noexcept override { return grant; }
  void left(std::optional<seam::release_answer> answer) noexcept override;
  /// What has to be given back with it, in order, and itself; how many that are.
  std::size_t prepare_to_leave(client_context& from,
                               std::array<seam::parting_ref, 2>& batch) noexcept;
  client_context* home = nullptr;  ///< which does not end before it has left
  farewell told;

  std::int64_t drawn_fence CROSSLOCK_GUARDED_BY(line_mutex) = 0;  ///< the last one given to a hold
  std::int64_t last_fence CROSSLOCK_GUARDED_BY(line_mutex) = 0;
  /// A further block, reserved by a renewal; 0: none.
  std::int64_t more_first CROSSLOCK_GUARDED_BY(line_mutex) = 0;
  std::int64_t more_last CROSSLOCK_GUARDED_BY(line_mutex) = 0;
  bool wanted CROSSLOCK_GUARDED_BY(line_mutex) = false;       ///< or nobody would tell
  bool others_wait CROSSLOCK_GUARDED_BY(line_mutex) = false;  ///< for certain, elsewhere
  bool watched CROSSLOCK_GUARDED_BY(line_mutex) = false;      ///< a user wants to hear of that
  bool listens CROSSLOCK_GUARDED_BY(line_mutex) = false;      ///< the engine was asked to tell
  std::uint32_t passes_while_wanted CROSSLOCK_GUARDED_BY(line_mutex) = 0;
  time_point wanted_since CROSSLOCK_GUARDED_BY(line_mutex){};
  /// An upgrade: the shared grant it came from. Set before anybody can end this one.
  std::shared_ptr<retired_grant> retired;
  /// Nobody uses it any more, and its release is on its way.
  bool giving_back CROSSLOCK_GUARDED_BY(line_mutex) = false;

  /// What was claimed is granted.
  void begin(const seam::grant& given, time_point now) CROSSLOCK_REQUIRES(line_mutex) {
    grant = given;
    drawn_fence = given.first.value();
    last_fence = given.last.value();
    wanted = wanted || given.wanted;
    others_wait = others_wait || given.wanted;
    wanted_since = now;
  }

  bool fence_left() const noexcept CROSSLOCK_REQUIRES(line_mutex) {
    return drawn_fence < last_fence || more_first != 0;
  }
  /// Half of the last block is left: time to reserve another, long before it is needed.
  bool fences_run_low() const noexcept CROSSLOCK_REQUIRES(line_mutex) {
    return more_first == 0 && last_fence - drawn_fence < seam::fence_block / 2;
  }
  std::int64_t draw_fence() noexcept CROSSLOCK_REQUIRES(line_mutex) {
    if (drawn_fence == last_fence) {
      drawn_fence = std::exchange(more_first, 0) - 1;
      last_fence = more_last;
    }
    return ++drawn_fence;
  }

  critical_section* first_user() const noexcept CROSSLOCK_REQUIRES(line_mutex) { return users_; }
  bool used() const noexcept CROSSLOCK_REQUIRES(line_mutex) { return users_ != nullptr; }
  template <class Action>
  void for_each_user(const Action& action) const CROSSLOCK_REQUIRES(line_mutex) {
    for (critical_section* at = users_; at; at = at->next_user_) action(*at);
  }
  bool only_user_is(const critical_section& one) const noexcept CROSSLOCK_REQUIRES(line_mutex) {
    return users_ == &one && one.next_user_ == nullptr;
  }
  void add_user(critical_section& one) noexcept CROSSLOCK_REQUIRES(line_mutex) {
    one.next_user_ = users_;
    one.link_to_user_ = &users_;
    if (users_) users_->link_to_user_ = &one.next_user_;
    users_ = &one;
  }
  static void remove_user(critical_section& one) noexcept CROSSLOCK_REQUIRES(line_mutex) {
    *one.link_to_user_ = one.next_user_;
    if (one.next_user_) one.next_user_->link_to_user_ = one.link_to_user_;
    one.next_user_ = nullptr;
    one.link_to_user_ = nullptr;
  }

 private:
  critical_section* users_ CROSSLOCK_GUARDED_BY(line_mutex) = nullptr;
};

}  // namespace crosslock::inner
