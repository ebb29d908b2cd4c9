// One loop over four descriptors: the guardian, signals, the news of a loss, and a timer.
#include "cli/running/supervisor.hpp"

#include "cli/running/alarm.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stop_token>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

/// The guardian has acted by then, unless it is dead or frozen.
constexpr duration late = 20ms;
constexpr duration between_kills = 10ms;
constexpr duration patience = 3s;

class supervisor {
 public:
  explicit supervisor(const supervision& how) : how_{how} {}

  verdict run(const lock_facts& facts) {
    read_lease();
    // Where the output goes elsewhere, the next program of a pipeline may want the keyboard.
    const bool in_front = how_.keyboard.is_ours() && isatty(STDOUT_FILENO) == 1;
    // The guardian looks at the clock itself before it starts anything.
    if (how_.held.lost().stop_requested()) {
      come_too_late();
    } else {
      how_.guard.launch(facts, times_, in_front);
    }
    while (!over_) {
      alarm_.set(next_step());
      wait();
      read_reports();
      pass_signals_on();
      if (!over_) look_at_lease();
    }
    how_.keyboard.take_back_from(how_.guard.command());
    return outcome_;
  }

 private:
  stop_times harmless_if_ignored(stop_times times) const {
    if (how_.ignore_loss) times.kill_at = time_point::max();
    return times;
  }

  void read_lease() {
    const time_point now = boot_clock::now();
    expires_ = how_.held.expires_at();
    times_ = harmless_if_ignored(plan_stop(now, expires_, how_.kill_after));
    // Renewals come every third of a lease: the guardian hears of each long before it would act.
    look_every_ = std::max<duration>((expires_ - now) / 12, 1ms);
    next_look_ = now + look_every_;
  }

  bool will_be_killed() const { return outcome_.stopped && times_.kill_at != time_point::max(); }

  time_point next_step() const {
    time_point next = outcome_.stopped ? time_point::max() : next_look_;
    if (outcome_.unguarded) {
      next = boot_clock::now() + between_kills;
    } else if (will_be_killed()) {
      next = std::max(times_.kill_at + late, boot_clock::now() + between_kills);
    }
    return ended_at_ && !told_of_leftovers_ ? std::min(next, *ended_at_ + patience) : next;
  }

  void look_at_lease() {
    const time_point now = boot_clock::now();
    if (!outcome_.stopped && how_.held.lost().stop_requested()) {
      times_ = harmless_if_ignored(plan_stop_now(now, expires_, how_.kill_after));
      how_.guard.stop(times_);
      outcome_.stopped = true;
    }
    if (!outcome_.stopped && now >= next_look_) {
      // What the guardian was told stays as it is until a renewal has moved the end.
      next_look_ = now + look_every_;
      if (how_.held.expires_at() != expires_) {
        read_lease();
        how_.guard.keep(times_);
      }
    }
    if (outcome_.unguarded) {
      over_ = how_.guard.kill_group();
    } else if (will_be_killed() && now >= times_.kill_at + late) {
      how_.guard.kill_group();
      if (now >= times_.kill_at + patience) how_.guard.give_up();
    }
    if (ended_at_ && !told_of_leftovers_ && now >= *ended_at_ + patience) {
      told_of_leftovers_ = true;
      how_.story.leftovers();
    }
  }

  void wait() {
    // Once they have come, the news of the loss and the end of the guardian would wake us for ever.
    pollfd all[] = {{how_.signals.descriptor(), POLLIN, 0},
                    {alarm_.descriptor(), POLLIN, 0},
                    {outcome_.stopped ? -1 : loss_.get(), POLLIN, 0},
                    {outcome_.unguarded ? -1 : how_.guard.descriptor(), POLLIN, 0}};
    poll(all, std::size(all), -1);
  }

  void read_reports() {
    if (outcome_.unguarded) return;
    while (const auto news = how_.guard.next()) hear(*news);
    if (over_ || !how_.guard.dead()) return;
    outcome_.unguarded = true;
    over_ = how_.guard.kill_group();
  }

  void come_too_late() { outcome_.stopped = outcome_.never_ran = over_ = true; }

  void hear(const report& news) {
    switch (news.what) {
      case report::kind::started:
        break;
      case report::kind::too_late:
        come_too_late();
        break;
      case report::kind::running:
        how_.story.started(how_.guard.command());
        break;
      case report::kind::cannot_launch:
        outcome_.cannot = news.number;
        over_ = true;
        break;
      case report::kind::stopping:
        outcome_.stopped = true;
        how_.story.stopping();
        break;
      case report::kind::paused:
        pause_with_it(news.number);
        break;
      case report::kind::ended:
        outcome_.exit_code = news.number;
        outcome_.interrupted =
            news.number == 128 + SIGINT && how_.keyboard.is_with(how_.guard.command());
        ended_at_ = boot_clock::now();
        how_.story.ended(news.number);
        break;
      case report::kind::gone:
        over_ = true;
        break;
    }
  }

  /// Ctrl-Z: the shell that has started us must see that we are stopped, too. Nothing is renewed
  /// then, so whoever comes back too late finds the command stopped for good.
  void pause_with_it(int signal) {
    const bool wants_keyboard = signal == SIGTTIN || signal == SIGTTOU;
    if (signal != SIGTSTP && !wants_keyboard) return;
    // What wants the keyboard gets it when it is ours to give.
    if (!wants_keyboard || !how_.keyboard.is_ours()) {
      how_.keyboard.take_back_from(how_.guard.command());
      kill(0, signal == SIGTTOU ? SIGTTIN : signal);  // TTOU does not stop us
    }
    // Somebody has let us go on, or there is no shell that could have stopped us.
    go_on();
  }

  void go_on() {
    if (how_.keyboard.is_ours() && how_.guard.command() != 0) {
      how_.keyboard.give_to(how_.guard.command());
    }
    how_.guard.pass_on(SIGCONT);
  }

  void pass_signals_on() {
    while (const auto news = how_.signals.next()) {
      if (*news == SIGCHLD) continue;
      if (*news == SIGCONT) {
        go_on();
      } else {
        how_.guard.pass_on(*news);
      }
    }
  }

  const supervision& how_;
  alarm alarm_;
  const descriptor loss_{eventfd(0, EFD_CLOEXEC), "eventfd"};
  const std::stop_callback<std::function<void()>> told_{how_.held.lost(),
                                                        [this] { eventfd_write(loss_.get(), 1); }};

  verdict outcome_;
  bool over_ = false;
  bool told_of_leftovers_ = false;
  std::optional<time_point> ended_at_;
  time_point expires_{};
  stop_times times_;
  duration look_every_{};
  time_point next_look_{};
};

}  // namespace

verdict supervise(const supervision& how, const lock_facts& facts) {
  try {
    return supervisor{how}.run(facts);
  } catch (...) {
    how.guard.dismiss();  // on the way up the lock is given back: nobody may be left by then
    throw;
  }
}

}  // namespace crosslock::cli
