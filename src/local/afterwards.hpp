// What a step of the line leaves to be done once its mutex is free.
#pragma once

#include "local/line.hpp"

namespace crosslock::inner {

/// Filled under the line's mutex, run without it. One thread at a time.
class line::afterwards {
 public:
  explicit afterwards(line& line) noexcept : line_{line} {}

  void wake(waiter& waiter);                   ///< a blocked thread has news
  void deliver(std::shared_ptr<waiter> done);  ///< an asynchronous acquire has ended
  void ask(std::uint64_t round) { asks_.push_back(round); }
  /// This runs on the keeper's clock thread: no request may be made here.
  void ask_elsewhere() { ask_elsewhere_ = true; }
  /// The engine shall tell when others wait behind this grant.
  void listen(const seam::claim& granted) { listened_ = granted; }
  void plan(time_point moment, std::uint64_t round);
  void withdraw(const seam::claim& claim) { withdrawn_.push_back(claim); }
  /// The caller has given up and its server answers: leave the line before it returns.
  void withdraw_here() { withdraw_here_ = true; }
  void release(const seam::grant& grant, time_point deadline,
               std::shared_ptr<std::atomic<bool>> given_back = {});
  void tell(std::optional<std::stop_source> stop, const observer::lost_event& event);

  void run();

 private:
  struct loss {
    std::optional<std::stop_source> stop;
    observer::lost_event event;
  };

  void deliver_one(const std::shared_ptr<waiter>& done);
  void tell_loss(loss& told);
  void ask_later(time_point moment, std::uint64_t round);

  line& line_;
  seam::park_word* wake_ = nullptr;
  std::vector<seam::park_word*> more_wakes_;
  std::vector<std::shared_ptr<waiter>> delivered_;
  std::vector<seam::claim> withdrawn_;
  bool withdraw_here_ = false;
  std::vector<std::uint64_t> asks_;
  bool ask_elsewhere_ = false;
  std::vector<std::pair<time_point, std::uint64_t>> planned_;
  struct late_release {
    seam::grant grant;
    time_point deadline;
    std::shared_ptr<std::atomic<bool>> given_back;
  };
  std::optional<late_release> released_;
  std::optional<seam::claim> listened_;
  std::vector<loss> losses_;
};

/// Tells the observer how an acquire ended. Without the mutex.
void report(core& home, const waiter& ended);

}  // namespace crosslock::inner
