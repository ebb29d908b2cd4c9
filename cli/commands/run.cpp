// Waits for the lock, runs the command, gives the lock back when the command is gone.
#include "cli/commands/run.hpp"

#include "cli/connected.hpp"
#include "cli/exit_code.hpp"
#include "cli/identity.hpp"
#include "cli/running/alarm.hpp"
#include "cli/running/supervisor.hpp"
#include "cli/say.hpp"
#include "cli/times.hpp"

#include <crosslock/crosslock.hpp>

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace crosslock::cli {
namespace {

struct run_flags {
  target_flags where;
  claim_flags claim;
  identity_flags who;
  std::optional<std::string> shell;
  std::string on_lost = "term";
  std::optional<std::string> kill_after;
  std::optional<std::string> min_hold;
  std::optional<int> status_fd;
  bool verbose = false;
};

/// What the flags say, as far as it can be known before anything is connected to.
struct run_plan {
  lock_name name;
  claim_request claim;
  int on_lost;  ///< 0: ignore it
  std::optional<duration> kill_after;
  duration min_hold;
};

int read_on_lost(const std::string& text) {
  if (text == "ignore") return 0;
  const int number = signal_number(text);
  if (number != 0) return number;
  throw usage_error{"--on-lost is '" + text + "': expected term, kill, ignore, or a signal as INT"};
}

run_plan read_flags(const run_flags& flags, const std::string& name) {
  run_plan plan{.name = lock_name{name},
                .claim = read_claim(flags.claim),
                .on_lost = read_on_lost(flags.on_lost),
                .kill_after = {},
                .min_hold = {}};
  if (flags.kill_after) plan.kill_after = read_time("--kill-after", *flags.kill_after);
  if (flags.min_hold) plan.min_hold = read_time("--min-hold", *flags.min_hold);
  if (!flags.status_fd) return plan;
  if (fcntl(*flags.status_fd, F_GETFD) < 0) {
    throw usage_error{"--status-fd is " + std::to_string(*flags.status_fd) +
                      ": no such descriptor is open; open it as in --status-fd 3 3>status"};
  }
  // It is for us, not for the command; unless it is one of the command's own streams.
  if (*flags.status_fd > STDERR_FILENO) fcntl(*flags.status_fd, F_SETFD, FD_CLOEXEC);
  return plan;
}

/// Only now is it known how long the engine's leases are.
duration choose_kill_after(const run_plan& plan, duration lease) {
  if (plan.on_lost == SIGKILL) return duration::zero();
  if (!plan.kill_after) return usual_kill_after(lease);
  if (*plan.kill_after <= longest_kill_after(lease)) return *plan.kill_after;
  throw usage_error{"--kill-after is " + show_time(*plan.kill_after) +
                    ": more than a third of the lease, which is " + show_time(lease) +
                    "; choose a shorter one, or a longer --lease"};
}

/// What came of it, once nobody is left. The lock is given back only now.
class ending {
 public:
  ending(const run_plan& plan, narrator& story, hold& held)
      : plan_{plan}, story_{story}, held_{held}, name_{"'" + plan.name.str() + "'"} {}

  int give_back(const verdict& ended, signal_inbox& signals, time_point granted_at) {
    const bool in_time = held_.valid();
    if (in_time && !ended.stopped && !ended.cannot && !ended.unguarded) {
      wait_until(granted_at + plan_.min_hold, signals);
    }
    const release_result released = held_.release();
    if (!in_time || (released == release_result::lost && plan_.min_hold == duration::zero())) {
      return lost(ended);
    }
    story_.released(released);
    if (ended.stopped) {
      complain(name_ +
               (ended.never_ran
                    ? " could not be renewed; the command was not started; ask crosslock doctor why"
                    : " could not be renewed; the command was stopped in time; ask crosslock "
                      "doctor why"));
      return exit_code::lost;
    }
    if (released == release_result::unknown) {
      complain("no answer to the release of " + name_ +
               ": it may stay locked until its lease ends");
    }
    return code_of(ended);
  }

 private:
  int lost(const verdict& ended) {
    const loss_reason told = held_.lost_reason();  // none: only the release has found it gone
    const loss_reason why = told == loss_reason::none ? loss_reason::gone : told;
    story_.lost(why);
    const char* const when = ended.never_ran ? " was lost before the command could be started ("
                                             : " was lost while the command ran (";
    complain(name_ + when + std::string{to_string(why)} +
             "); somebody else may hold it now: look at what was done before you run it again");
    return exit_code::lost;
  }

  static int code_of(const verdict& ended) {
    if (ended.unguarded) {
      complain("the guardian process was killed, so the command was stopped, too; run it again");
      return exit_code::internal;
    }
    return ended.exit_code;
  }

  /// For jobs that are over before every clock agrees that it was time for them.
  static void wait_until(time_point end, signal_inbox& signals) {
    alarm rings;
    rings.set(end);
    while (boot_clock::now() < end) {
      pollfd both[] = {{signals.descriptor(), POLLIN, 0}, {rings.descriptor(), POLLIN, 0}};
      poll(both, std::size(both), -1);
      const auto news = signals.next();
      if (news && ends_a_wait(*news)) return;
    }
  }

  const run_plan& plan_;
  narrator& story_;
  hold& held_;
  const std::string name_;
};

int report_failure(const std::string& command, int why) {
  complain("cannot run '" + command + "': " + std::strerror(why) +
           (why == ENOENT ? "; is it installed, and in PATH?" : "; is it a program, and may you?"));
  return why == ENOENT ? exit_code::not_found : exit_code::cannot_execute;
}

/// Everything a run needs from before the first connection on.
struct run_context {
  const run_plan& plan;
  const run_request& wanted;
  const terminal& keyboard;
  guardian& guard;
  narrator& story;
};

int run_under(const run_context& on, const client& locks, calls& answers, int& ended_by) {
  const duration kill_after = choose_kill_after(on.plan, locks.lease());
  signal_inbox signals;
  on.story.waiting();
  waited outcome = wait_for(locks, on.plan.name, on.plan.claim, {answers, signals});
  ended_by = outcome.ended_by;
  if (ended_by != 0) return 128 + ended_by;
  if (!outcome.held) {
    const bool is_fine = on.plan.claim.busy_code == exit_code::success;  // and no mail from cron
    on.story.busy(is_fine ? std::string{} : busy_text(locks, on.plan.name));
    return on.plan.claim.busy_code;
  }
  hold& held = *outcome.held;
  const time_point granted_at = boot_clock::now();
  on.story.acquired(held, locks.engine(), locks.lease());
  const verdict ended = supervise({.guard = on.guard,
                                   .held = held,
                                   .signals = signals,
                                   .keyboard = on.keyboard,
                                   .story = on.story,
                                   .kill_after = kill_after,
                                   .ignore_loss = on.plan.on_lost == 0},
                                  {.fence = held.fence().to_string(),
                                   .owner = held.owner().to_string(),
                                   .engine = std::string{locks.engine()}});
  const int code = ending{on.plan, on.story, held}.give_back(ended, signals, granted_at);
  if (ended.interrupted && code == ended.exit_code && getsid(0) != getpid()) {
    // A script that runs us in a loop is in our group. It has not got it, and would go on.
    kill(0, SIGINT);
    ended_by = SIGINT;
  }
  return ended.cannot ? report_failure(on.wanted.command[0], *ended.cannot) : code;
}

int run(const run_flags& flags, const run_request& wanted) {
  int ended_by = 0;
  int code = exit_code::internal;
  {
    const run_plan plan = read_flags(flags, wanted.name);
    const std::string who = note(flags.who, "runs " + wanted.command[0]);
    target where = find_target(flags.where);
    narrator story{wanted.name, flags.verbose, flags.status_fd.value_or(-1)};
    story.uses(where.shown(), where.source);
    const terminal keyboard;
    // Until there are threads and locks. The guardian is no more than a copy of this moment.
    guardian guard{{.name = wanted.name,
                    .command = wanted.command,
                    .on_lost = plan.on_lost,
                    .keyboard = keyboard}};
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not end the lock
    where.how.who = who;
    // It ends after the command in any case; the lock must not be seen as free before that.
    where.how.process = guard.pid();
    calls answers;
    where.how.executor = answers.executor();
    // Until here signals do what they always do: nothing is held, and nothing has to be undone.
    const client locks = connect(where.url, std::move(where.how));
    const closed_in_the_end closing{locks};
    code = run_under({plan, wanted, keyboard, guard, story}, locks, answers, ended_by);
  }
  if (ended_by != 0) die_of(ended_by);
  return code;
}

constexpr const char* run_usage =
    "Usage: crosslock run [OPTIONS] NAME [--] COMMAND [ARG...]\n"
    "       crosslock run [OPTIONS] NAME -c STRING\n";
constexpr const char* run_footer =
    R"(Waits for NAME, and exits with the code of COMMAND, or with 128+n if signal n killed it.
COMMAND runs in a process group of its own, which gets every signal that crosslock gets. In its
environment are CROSSLOCK_NAME, CROSSLOCK_FENCE, CROSSLOCK_OWNER_ID, CROSSLOCK_ENGINE and
CROSSLOCK_LOST_FD, which becomes readable when the lock is lost. By then the group gets TERM, and
KILL before the lease ends; the exit code is 79. When crosslock itself is killed or frozen, its
guardian process does the same. Options of COMMAND are never taken for ours.)";

void offer_stopping(command_words& words, run_flags& flags) {
  words.add_option("-c", flags.shell, "Run this by /bin/sh instead of COMMAND");
  words.add_option("--on-lost", flags.on_lost,
                   "At loss: term (default), kill, ignore, or a signal");
  words.add_option("--kill-after", flags.kill_after,
                   "From that signal to KILL; default 5s or a sixth of the lease");
  words.add_option("--min-hold", flags.min_hold, "Keep the lock at least so long");
  words.add_option("--status-fd", flags.status_fd,
                   "Write what happens to this descriptor, as JSON");
  words.add_flag("-v,--verbose", flags.verbose, "Say what happens");
}

run_request through_shell(const std::string& name, const std::string& text) {
  return {name, {"/bin/sh", "-c", text}};
}

}  // namespace

run_request read_run_words(const std::vector<std::string>& words, const behind_dashes& behind,
                           const std::optional<std::string>& shell) {
  // Neither is likely to be meant, and both can be said behind `--`.
  const auto is_option = [&](std::size_t i) {
    return i < words.size() && words[i].size() > 1 && words[i][0] == '-';
  };
  if (is_option(0)) throw usage_error{"there is no option " + words[0]};
  // As flock(1) has it; no command is called so.
  if (words.size() == 3 && words[1] == "-c" && !behind && !shell) {
    return through_shell(words[0], words[2]);
  }
  if (is_option(1)) {
    throw usage_error{words[1] + " stands behind NAME: options go before it, and a " +
                      "COMMAND that begins with - goes behind --"};
  }
  std::vector<std::string> all = words;
  // Behind the first word of the command, `--` is the command's own.
  if (behind && words.size() > 1) all.emplace_back("--");
  if (behind) all.insert(all.end(), behind->begin(), behind->end());
  if (words.empty() && all.size() > 1 && all[1] == "--") all.erase(all.begin() + 1);
  if (all.empty()) throw usage_error{"NAME and COMMAND are required: crosslock run NAME COMMAND"};
  if (shell && all.size() > 1) {
    throw usage_error{"there is both -c and the COMMAND '" + all[1] + "': one of them is enough"};
  }
  if (shell) return through_shell(all[0], *shell);
  if (all.size() == 1) throw usage_error{"COMMAND is required: crosslock run NAME COMMAND"};
  return {all[0], {all.begin() + 1, all.end()}};
}

command offer_run(command_line& program, const behind_dashes& behind) {
  command_words words = program.add_command("run", "Hold a lock while a command runs");
  words.usage(run_usage);
  words.footer(run_footer);
  words.stop_at_first_word();
  const auto flags = std::make_shared<run_flags>();
  offer_claim(words, flags->claim);
  offer_target(words, flags->where);
  offer_lease(words, flags->where);
  offer_identity(words, flags->who);
  offer_stopping(words, *flags);
  return {words, [words, flags, behind] {
            return run(*flags, read_run_words(words.remaining(), behind, flags->shell));
          }};
}

}  // namespace crosslock::cli
