// Waits for the lock, runs the command, gives the lock back when the command is gone.
#include "cli/run.hpp"

#include "cli/exit_code.hpp"
#include "cli/supervisor.hpp"

#include <crosslock/crosslock.hpp>

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace crosslock::cli {
namespace {

void complain(const std::string& text) { std::cerr << "crosslock: " << text << '\n'; }

/// The thread that calls back may keep the client for a moment longer than we do; closing it waits
/// for all that has to be undone on the server, and the process does not end before that.
struct closed_at_the_end {
  const client& locks;
  ~closed_at_the_end() { locks.close(); }
};

/// How the wait for the lock ended: with a hold, or by a signal.
struct waited {
  std::optional<hold> held;
  int ended_by = 0;
};

waited wait_for(mutex& lock, signal_inbox& signals) {
  struct answer {
    std::promise<acquire_result> result;
    const descriptor came{eventfd(0, EFD_CLOEXEC), "eventfd"};
  };
  // Shared, because we may go on before the thread that calls back is done with it.
  const auto awaited = std::make_shared<answer>();
  std::stop_source stop;
  lock.acquire_async(
      [awaited](acquire_result result) {
        awaited->result.set_value(std::move(result));
        eventfd_write(awaited->came.get(), 1);
      },
      {.lease = {}, .stop = stop.get_token()});
  waited outcome;
  for (;;) {
    pollfd both[] = {{awaited->came.get(), POLLIN, 0},
                     {outcome.ended_by == 0 ? signals.descriptor() : -1, POLLIN, 0}};
    poll(both, std::size(both), -1);
    if (both[0].revents != 0) break;
    const auto news = signals.next();
    if (!news || news->number == SIGCHLD) continue;
    outcome.ended_by = news->number;
    stop.request_stop();
    signals.let_through();  // a second one need not wait until the place in line is given up
  }
  acquire_result result = awaited->result.get_future().get();
  if (outcome.ended_by != 0) return outcome;  // and lets go of what may have come in between
  if (result.failure) std::rethrow_exception(result.failure);
  outcome.held = std::move(result.hold);
  return outcome;
}

/// Ours, and what the command may want to know of its lock.
std::vector<std::string> environment_for(const run_request& wanted, const client& locks,
                                         const hold& held) {
  const std::pair<std::string, std::string> facts[] = {
      {"CROSSLOCK_NAME=", wanted.name},
      {"CROSSLOCK_FENCE=", held.fence().to_string()},
      {"CROSSLOCK_OWNER_ID=", held.owner().to_string()},
      {"CROSSLOCK_ENGINE=", std::string{locks.engine()}},
  };
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry{*each};
    const bool ours = std::any_of(std::begin(facts), std::end(facts),
                                  [&](const auto& fact) { return entry.starts_with(fact.first); });
    if (!ours) all.emplace_back(entry);
  }
  for (const auto& [variable, value] : facts) all.push_back(variable + value);
  return all;
}

/// The lock is given back only now, when the command is gone.
int settle(const run_request& wanted, hold& held, const verdict& ended) {
  const bool in_time = held.valid();
  const release_result released = held.release();
  if (!in_time || released == release_result::lost) {
    const loss_reason told = held.lost_reason();  // none: only the release has found it gone
    const loss_reason why = told == loss_reason::none ? loss_reason::gone : told;
    complain("'" + wanted.name + "' was lost while the command ran (" +
             std::string{to_string(why)} + ")");
    return exit_code::lost;
  }
  if (ended.stopped) {
    complain("'" + wanted.name + "' could not be renewed; the command was stopped in time");
    return exit_code::lost;
  }
  if (released == release_result::unknown) {
    complain("no answer to the release of '" + wanted.name +
             "': it may stay locked until its lease ends");
  }
  return ended.exit_code;
}

int run_under(mutex& lock, const client& locks, const run_request& wanted, int& ended_by) {
  signal_inbox signals;
  waited outcome = wait_for(lock, signals);
  ended_by = outcome.ended_by;
  if (!outcome.held) return 128 + ended_by;
  hold& held = *outcome.held;
  try {
    child command = child::start(wanted.command, environment_for(wanted, locks, held));
    try {
      return settle(wanted, held, supervise(command, held, signals));
    } catch (...) {
      // Nobody can watch over it: it must not go on without its lock.
      command.kill_and_wait();
      throw;
    }
  } catch (const cannot_execute& why) {
    complain(why.what());
    return why.code;
  }
}

}  // namespace

run_request read_run_words(const std::vector<std::string>& words,
                           const std::vector<std::string>* after) {
  // Neither is likely to be meant, and both can be said behind `--`.
  const auto is_option = [&](std::size_t i) {
    return i < words.size() && words[i].size() > 1 && words[i][0] == '-';
  };
  if (is_option(0)) throw std::invalid_argument{"there is no option " + words[0]};
  if (is_option(1)) {
    throw std::invalid_argument{words[1] + " stands behind NAME: options go before it, and a " +
                                "COMMAND that begins with - goes behind --"};
  }
  std::vector<std::string> all = words;
  // Behind the first word of the command, `--` is the command's own.
  if (after != nullptr && words.size() > 1) all.emplace_back("--");
  if (after != nullptr) all.insert(all.end(), after->begin(), after->end());
  if (words.empty() && all.size() > 1 && all[1] == "--") all.erase(all.begin() + 1);
  if (all.empty()) throw std::invalid_argument{"NAME and COMMAND are required"};
  if (all.size() == 1) throw std::invalid_argument{"COMMAND is required"};
  return {all[0], {all.begin() + 1, all.end()}};
}

int run(const run_request& wanted) {
  int ended_by = 0;
  int code = exit_code::internal;
  {
    const lock_name checked{wanted.name};  // before anything is connected to
    options how;
    how.who = "runs " + wanted.command[0];
    // Until here signals do what they always do: nothing is held, and nothing has to be undone.
    const client locks = connect(std::move(how));
    const closed_at_the_end closing{locks};
    mutex lock{locks, checked};
    code = run_under(lock, locks, wanted, ended_by);
  }
  if (ended_by != 0) die_of(ended_by);
  return code;
}

}  // namespace crosslock::cli
