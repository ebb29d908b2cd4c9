// Several holds as one: what a multi_hold stands for.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/hold.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace crosslock::inner {

/// Hears of the loss of each hold it is told to watch, and tells it once for all. Thread-safe but
/// for watch(). It may end while a callback is running that never returns: whoever runs it owns it
/// then.
class joint_loss : public std::enable_shared_from_this<joint_loss> {
 public:
  explicit joint_loss(const std::stop_token& stop) : waits_{stop} {}

  void watch(const hold& held);
  /// Ends the wait for the rest: when the user stops it, or one of them is lost.
  std::stop_token waits() const noexcept { return waits_.token(); }
  const std::stop_source& told() const noexcept { return told_; }

 private:
  struct notice {
    std::weak_ptr<joint_loss> to;
    void operator()() const;
  };

  joined_stop waits_;
  std::stop_source told_;
  std::list<std::stop_callback<notice>> watches_;
};

/// One thread at a time.
class joint {
 public:
  /// `indices`: which of the holds, in the order of taking, each given element has.
  joint(std::vector<std::size_t> indices, const std::stop_token& stop);
  ~joint();
  joint(const joint&) = delete;
  joint& operator=(const joint&) = delete;

  void add(hold held);
  /// They are taken by lock() of that thread.
  void note_thread(std::uint64_t thread) noexcept;
  std::stop_token waits() const noexcept { return loss_->waits(); }

  std::size_t size() const noexcept { return indices_.size(); }
  std::vector<crosslock::fence> fences() const;
  time_point expires_at() const noexcept;
  std::stop_token lost() const noexcept { return told_.get_token(); }
  loss_reason lost_reason() const noexcept;
  bool valid() const noexcept;
  void check() const;
  release_result release() noexcept;
  const std::vector<release_result>& results() const noexcept { return results_; }

 private:
  const std::vector<std::size_t> indices_;
  std::shared_ptr<joint_loss> loss_;  // null once released
  const std::stop_source told_;
  std::vector<hold> holds_;
  std::vector<release_result> results_;        // of each given element, once released
  std::vector<release_result> results_found_;  // of each hold
};

}  // namespace crosslock::inner
