// What a step of the line leaves to be done once its mutex is free.
#pragma once

#include "local/line_mutex.hpp"
#include "local/waiter.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace crosslock::inner {

class client_context;
class line;

/// Filled under the line's mutex, run without it. One thread at a time.
class deferred_actions {
 public:
  explicit deferred_actions(line& line) noexcept : line_{line} {}

  void wake(waiter& waiter);                   ///< a blocked thread has news
  void deliver(std::shared_ptr<waiter> done);  ///< an asynchronous acquire has ended
  /// An asynchronous claim goes to the server.
  void ask(const seam::claim& claim) { asks_.push_back(claim); }
  /// This runs on the keeper's clock thread, or one of the engine's: no request is made here.
  void ask_elsewhere() { ask_elsewhere_ = true; }
  /// This may run on the keeper's clock thread: user code, such as executors and observers, does
  /// not run here.
  void tell_elsewhere() { tell_elsewhere_ = true; }
  /// The engine shall tell when others wait behind this grant.
  void listen(const seam::claim& granted) { listened_ = granted; }
  /// `here_until`: before the caller returns, if the server answers within a moment, by then.
  void withdraw(const seam::claim& claim, std::optional<time_point> here_until = std::nullopt) {
    withdrawn_.push_back({claim, here_until});
  }
  /// The same, and nothing is asked before it has been tried.
  void withdraw_first(const seam::claim& claim, std::optional<time_point> here_until) {
    if (here_until) return withdraw(claim, here_until);
    withdrawn_first_.push_back(claim);
  }
  /// A wait goes on although a request failed; with none, the server answers again.
  void tell_trouble(const outage& trouble) { trouble_ = trouble; }
  void release(const seam::grant& grant, time_point deadline,
               std::shared_ptr<std::atomic<bool>> given_back = {});
  void tell(std::optional<std::stop_source> stop, const observer::lost_event& event);

  void run() CROSSLOCK_EXCLUDES(line_mutex);

 private:
  struct loss {
    std::optional<std::stop_source> stop;
    observer::lost_event event;
  };

  static void deliver_one(client_context& home, const std::shared_ptr<waiter>& done);
  void tell_away();
  void tell_loss(loss& told);
  void ask_later(const seam::claim& claim);
  void withdraw_and_ask();

  line& line_;
  seam::park_word* wake_ = nullptr;
  std::vector<seam::park_word*> more_wakes_;
  std::vector<std::shared_ptr<waiter>> delivered_;
  struct withdrawal {
    seam::claim claim;
    std::optional<time_point> here_until;
  };
  std::vector<withdrawal> withdrawn_;
  std::vector<seam::claim> withdrawn_first_;
  std::optional<outage> trouble_;
  std::vector<seam::claim> asks_;
  bool ask_elsewhere_ = false;
  bool tell_elsewhere_ = false;
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
void report(client_context& home, const waiter& ended);

}  // namespace crosslock::inner
