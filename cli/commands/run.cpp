// Waits for the lock, runs the command, gives the lock back when the command is gone.
#include "cli/commands/run.hpp"

#include "cli/exit_code.hpp"
#include "cli/running/supervisor.hpp"
#include "cli/say.hpp"

#include <crosslock/crosslock.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace crosslock::cli {
namespace {

/// The thread that calls back may keep the client for a moment longer than we do; closing it waits
/// for all that has to be undone on the server, and the process does not end before that.
struct closed_at_the_end {
  const client& locks;
  ~closed_at_the_end() { locks.close(); }
};

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

int run_under(const client& locks, const lock_name& name, const run_request& wanted,
              const claim_request& claim, int& ended_by) {
  signal_inbox signals;
  waited outcome = wait_for(locks, name, claim, signals);
  ended_by = outcome.ended_by;
  if (!outcome.held && ended_by == 0) {
    if (claim.busy_code != exit_code::success) complain(busy_text(locks, name));
    return claim.busy_code;
  }
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

struct run_flags {
  place_flags where;
  claim_flags claim;
};

int run(const run_flags& flags, const run_request& wanted) {
  int ended_by = 0;
  int code = exit_code::internal;
  {
    const lock_name checked{wanted.name};  // before anything is connected to
    const claim_request claim = read_claim(flags.claim);
    place where = find_place(flags.where);
    where.how.who = "runs " + wanted.command[0];
    // Until here signals do what they always do: nothing is held, and nothing has to be undone.
    const client locks = connect(where.url, std::move(where.how));
    const closed_at_the_end closing{locks};
    code = run_under(locks, checked, wanted, claim, ended_by);
  }
  if (ended_by != 0) die_of(ended_by);
  return code;
}

constexpr const char* usage = "Usage: crosslock run [OPTIONS] NAME [--] COMMAND [ARG...]\n";
constexpr const char* footer =
    R"(Waits for NAME, and exits with the code of COMMAND, or with 128+n if signal n killed it.
COMMAND finds CROSSLOCK_NAME, CROSSLOCK_FENCE, CROSSLOCK_OWNER_ID and CROSSLOCK_ENGINE in its
environment. If the lock is lost it gets TERM, then KILL, and the exit code is 79.
Signals are passed on. After kill -9 of crosslock itself COMMAND goes on without the lock.
Locks are kept where CROSSLOCK_URL says; by default in a file of yours (see man crosslock).)";

/// CLI11 knows nothing of words that are not options.
class run_formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return usage; }
};

}  // namespace

run_request read_run_words(const std::vector<std::string>& words, const behind_dashes& behind) {
  // Neither is likely to be meant, and both can be said behind `--`.
  const auto is_option = [&](std::size_t i) {
    return i < words.size() && words[i].size() > 1 && words[i][0] == '-';
  };
  if (is_option(0)) throw usage_error{"there is no option " + words[0]};
  if (is_option(1)) {
    throw usage_error{words[1] + " stands behind NAME: options go before it, and a " +
                      "COMMAND that begins with - goes behind --"};
  }
  std::vector<std::string> all = words;
  // Behind the first word of the command, `--` is the command's own.
  if (behind && words.size() > 1) all.emplace_back("--");
  if (behind) all.insert(all.end(), behind->begin(), behind->end());
  if (words.empty() && all.size() > 1 && all[1] == "--") all.erase(all.begin() + 1);
  if (all.empty()) throw usage_error{"NAME and COMMAND are required"};
  if (all.size() == 1) throw usage_error{"COMMAND is required"};
  return {all[0], {all.begin() + 1, all.end()}};
}

command offer_run(CLI::App& program, const behind_dashes& behind) {
  CLI::App* const words = program.add_subcommand("run", "Hold a lock while a command runs");
  words->formatter(std::make_shared<run_formatter>());
  words->footer(footer);
  words->prefix_command();  // from the first word that is no option on, nothing is looked at
  const auto flags = std::make_shared<run_flags>();
  offer_claim(*words, flags->claim);
  offer_place(*words, flags->where);
  offer_lease(*words, flags->where);
  return {words, [words, flags, behind] {
            return run(*flags, read_run_words(words->remaining(), behind));
          }};
}

}  // namespace crosslock::cli
