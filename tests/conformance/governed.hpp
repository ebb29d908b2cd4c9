// Terms of leaders that are written down for the checker, as grants of the election's name.
#pragma once

#include "conformance/witness.hpp"

#include <crosslock/election.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace crosslock::conformance {

/// A leadership with its story. One thread at a time.
class governed {
 public:
  governed(surroundings where, leadership leads, checker::claim_record record);
  governed(const governed&) = delete;
  governed& operator=(const governed&) = delete;
  ~governed();

  leadership& leads() noexcept { return leads_; }
  int told() const noexcept { return told_.load(); }
  /// Goes on leading for so long, or until the loss is told; false then.
  bool work(duration length);
  release_result resign();

 private:
  void note_renewal();
  void note_loss();

  const surroundings where_;
  leadership leads_;
  checker::claim_record record_;
  time_point deadline_;
  bool resigned_ = false;
  std::atomic<int> told_{0};
  std::stop_callback<std::function<void()>> on_loss_;
};

/// Null when busy or out of time. An error is recorded and thrown on.
std::unique_ptr<governed> campaign(const surroundings& where, election& office,
                                   const std::string& value, duration wait,
                                   std::int32_t thread = 0);

}  // namespace crosslock::conformance
