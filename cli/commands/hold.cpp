// A lock for a program that talks to another one: a line of JSON when it is held, and one if it is
// lost.
#include "cli/commands/hold.hpp"

#include "cli/connected.hpp"
#include "cli/exit_code.hpp"
#include "cli/identity.hpp"
#include "cli/receipt_io.hpp"
#include "cli/say.hpp"
#include "cli/standard_output.hpp"
#include "cli/target.hpp"
#include "cli/waiting.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace crosslock::cli {
namespace {

struct hold_flags {
  std::string name;
  target_flags where;
  claim_flags claim;
  identity_flags self;
  bool no_stdin = false;
};

/// Standard input of somebody who says no more than that it has ended.
class input_end {
 public:
  explicit input_end(bool ignored) : ignored_{ignored} {
    // In the background of a terminal a read shall fail, and not stop us.
    std::signal(SIGTTIN, SIG_IGN);
  }

  /// For poll(2).
  int descriptor() const noexcept { return ignored_ || resting_ ? -1 : STDIN_FILENO; }
  int milliseconds_left() const noexcept { return resting_ && !ignored_ ? 1000 : -1; }

  /// Reads what there is; true at the end. In the background of a terminal nothing can be read,
  /// until it is tried again after a rest.
  bool reached(const pollfd& seen) {
    resting_ = false;
    if (seen.fd < 0 || seen.revents == 0) return false;
    std::array<char, 4096> thrown_away{};
    const ssize_t got = read(STDIN_FILENO, thrown_away.data(), thrown_away.size());
    if (got >= 0) return got == 0;
    resting_ = errno == EIO;
    return !resting_ && errno != EAGAIN && errno != EINTR;
  }

 private:
  const bool ignored_;
  bool resting_ = false;
};

/// Until there is a reason to give the lock back, or it is lost.
void stay(const hold& held, signal_inbox& signals, bool no_stdin) {
  const descriptor loss{eventfd(0, EFD_CLOEXEC), "eventfd"};
  const std::stop_callback tell{held.lost(), [&loss] { eventfd_write(loss.get(), 1); }};
  input_end input{no_stdin};
  while (held.valid()) {
    // Of standard output only that its reader has gone: an error, for which nobody has to ask.
    pollfd all[] = {{loss.get(), POLLIN, 0},
                    {signals.descriptor(), POLLIN, 0},
                    {STDOUT_FILENO, 0, 0},
                    {input.descriptor(), POLLIN, 0}};
    poll(all, std::size(all), input.milliseconds_left());
    if (all[0].revents != 0 || all[2].revents != 0 || input.reached(all[3])) return;
    while (const auto news = signals.next()) {
      if (ends_a_wait(*news)) return;
    }
  }
}

std::string acquired_line(const client& locks, const hold& held, const std::string& name) {
  const nlohmann::ordered_json object{
      {"event", "acquired"},
      {"name", name},
      {"fence", held.fence().to_string()},
      {"owner_id", held.owner().to_string()},
      {"engine", locks.engine()},
      {"mode", mode_word(held.mode())},
      {"lease_ms", locks.lease() / std::chrono::milliseconds{1}},
      {"pid", getpid()},
  };
  return object.dump() + '\n';
}

/// Gives it back, and says so if there was nothing to give back.
int give_back(hold& held, const std::string& name, signal_inbox& signals) {
  const bool in_time = held.valid();
  const release_result released = held.release();
  if (in_time && released != release_result::lost) {
    if (released == release_result::unknown) {
      complain("no answer to the release of '" + name +
               "': it may stay locked until its lease ends");
    }
    return exit_code::success;
  }
  const loss_reason told = held.lost_reason();  // none: only the release has found it gone
  const std::string why{to_string(told == loss_reason::none ? loss_reason::gone : told)};
  complain("'" + name + "' was lost while it was held (" + why + ")");
  const nlohmann::ordered_json object{{"event", "lost"}, {"name", name}, {"reason", why}};
  try {
    write_out(object.dump() + '\n', signals);
  } catch (const std::exception&) {
    // Nobody reads any more; the exit code says it too.
  }
  return exit_code::lost;
}

int hold_until_end(const client& locks, const lock_name& name, const hold_flags& flags,
                   const claim_request& claim, calls& answers, int& ended_by) {
  signal_inbox signals;
  waited outcome = wait_for(locks, name, claim, {answers, signals});
  ended_by = outcome.ended_by;
  if (!outcome.held) {
    if (ended_by == 0 && claim.busy_code != exit_code::success) complain(busy_text(locks, name));
    return claim.busy_code;
  }
  hold& held = *outcome.held;
  if (write_out(acquired_line(locks, held, flags.name), signals) == 0) {
    stay(held, signals, flags.no_stdin);
  }
  return give_back(held, flags.name, signals);
}

int hold_it(const hold_flags& flags) {
  int ended_by = 0;
  int code = exit_code::internal;
  {
    const lock_name name{flags.name};  // before anything is connected to
    const claim_request claim = read_claim(flags.claim);
    target where = find_target(flags.where);
    where.how.who = note(flags.self, "hold");
    require_standard_output();
    calls answers;
    where.how.executor = answers.executor();
    const client locks = connect(where.url, std::move(where.how));
    const closed_in_the_end closing{locks};
    code = hold_until_end(locks, name, flags, claim, answers, ended_by);
  }
  if (ended_by != 0) die_of(ended_by);
  return code;
}

constexpr const char* hold_footer =
    R"(Prints one line of JSON when it holds NAME, and holds it until standard input ends, a signal
comes or nobody reads its standard output any more; then it exits with 0. If the lock is lost it
prints another line and exits with 79. /dev/null ends at once: a job in the background of a
script, or of systemd, wants --no-stdin.)";

}  // namespace

command offer_hold(command_line& program) {
  command_words words = program.add_command("hold", "Hold a lock until standard input ends");
  words.footer(hold_footer);
  const auto flags = std::make_shared<hold_flags>();
  words.add_option("NAME", flags->name, "The lock").required().untyped();
  offer_claim(words, flags->claim);
  offer_target(words, flags->where);
  offer_lease(words, flags->where);
  offer_identity(words, flags->self);
  words.add_flag("--no-stdin", flags->no_stdin, "Do not look at standard input");
  return {words, [flags] { return hold_it(*flags); }};
}

}  // namespace crosslock::cli
