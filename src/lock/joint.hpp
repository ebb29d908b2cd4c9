// Several holds as one: what a multi_hold stands for.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/hold.hpp>

#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

namespace crosslock::inner {

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
  /// Ends the wait for the rest: when the user stops it, or one of them is lost.
  std::stop_token waits() const noexcept { return waits_.token(); }

  std::size_t size() const noexcept { return indices_.size(); }
  std::vector<crosslock::fence> fences() const;
  time_point expires_at() const noexcept;
  std::stop_token lost() const noexcept { return told_.get_token(); }
  std::stop_token wanted();
  time_point extend(const std::optional<duration>& lease);
  loss_reason lost_reason() const noexcept;
  bool valid() const noexcept;
  void check() const;
  release_result release() noexcept;
  const std::vector<release_result>& results() const noexcept { return results_; }

 private:
  struct end_of_wait {
    joined_stop& waits;
    void operator()() const { waits.request(); }
  };

  /// What happens to the rest while one is released is no loss any more.
  void hear_no_more() noexcept;

  const std::vector<std::size_t> indices_;
  bool released_ = false;
  joined_stop waits_;
  const std::stop_source told_;  // the parts tell it of their loss themselves
  const std::stop_callback<end_of_wait> ends_wait_;
  std::optional<std::stop_source> wanted_;  // the same; made when first asked for
  bool all_tell_wanted_ = false;
  std::vector<hold> holds_;
  std::vector<release_result> results_;        // of each given element, once released
  std::vector<release_result> results_found_;  // of each hold
};

}  // namespace crosslock::inner
