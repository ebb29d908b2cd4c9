// The wait is asynchronous, so that this thread can listen to signals at the same time.
#include "cli/waiting.hpp"

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/looking/plain_text.hpp"
#include "cli/say.hpp"
#include "cli/times.hpp"

#include <crosslock/crosslock.hpp>

#include <poll.h>

#include <iostream>
#include <stop_token>
#include <utility>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

constexpr duration patience_of_people = 3s;
constexpr duration between_looks = 5s;

/// Tells a person at the terminal who is in the way; nobody else.
class waiting_note {
 public:
  waiting_note(const client& locks, const lock_name& name)
      : locks_{locks}, name_{name}, somebody_looks_{isatty(STDERR_FILENO) == 1} {}

  /// For poll(2): when to call again.
  int milliseconds_left() const {
    if (!somebody_looks_) return -1;
    const duration left = std::max<duration>(next_ - boot_clock::now(), 0ms);
    return static_cast<int>(left / 1ms) + 1;
  }
  void look() {
    if (!somebody_looks_ || boot_clock::now() < next_) return;
    next_ = boot_clock::now() + between_looks;
    const std::string holder = in_the_way();
    // The time goes on by itself; what is worth another line is another holder.
    if (holder.empty() || holder == told_) return;
    told_ = holder;
    std::cerr << painted("crosslock: waiting for " + holder, colour::yellow,
                         likes_colours(STDERR_FILENO))
              << std::endl;
  }

 private:
  std::string in_the_way();

  const client& locks_;
  const lock_name& name_;
  const bool somebody_looks_;
  time_point next_ = boot_clock::now() + patience_of_people;
  std::string told_;
  std::optional<owner_id> last_;
};

std::string describe(const claim_info& holder) {
  const std::string by = "held by " + printable(holder.who);
  return holder.foreign ? by : by + " for " + show_time(holder.age);
}

std::string waiting_note::in_the_way() {
  try {
    const lock_info seen = locks_.look(name_.view());
    if (seen.holders.empty()) return {};
    const claim_info& first = seen.holders.front();
    if (last_ == first.owner) return told_;
    last_ = first.owner;
    return "'" + name_.str() + "', " + describe(first);
  } catch (const error&) {
    return {};  // the wait itself will say what is wrong, if it is
  }
}

/// None where nobody can share, and a mutex is all that there is.
void open_read_write_lock(std::optional<shared_mutex>& lock, const client& locks,
                          const lock_name& name) {
  try {
    lock.emplace(locks, name);
  } catch (const error& why) {
    if (why.which() != errc::unsupported) throw;
  }
}

void begin(const client& locks, const lock_name& name, const claim_request& wanted, acquire_how how,
           acquire_callback done) {
  std::optional<shared_mutex> lock;
  if (wanted.among_readers) open_read_write_lock(lock, locks, name);
  switch (wanted.mode) {
    case claim_mode::exclusive:
      if (lock) {
        lock->acquire_async(std::move(done), std::move(how), wanted.wait);
        return;
      }
      mutex{locks, name}.acquire_async(std::move(done), std::move(how), wanted.wait);
      return;
    case claim_mode::shared:
      shared_mutex{locks, name}.acquire_shared_async(std::move(done), std::move(how), wanted.wait);
      return;
    case claim_mode::permit:
      semaphore{locks, name, wanted.permits}.acquire_async(std::move(done), 1, std::move(how),
                                                           wanted.wait);
      return;
  }
}

}  // namespace

void offer_claim(command_words& words, claim_flags& flags) {
  const option no_wait = words.add_flag("-n,--no-wait", flags.no_wait, "Do not wait for the lock");
  words
      .add_option("-w,--wait,--timeout", flags.wait, "Wait at most so long: 90, 500ms, 2m; 0 is -n")
      .excludes(no_wait);
  option shared = words.add_flag("-s,--shared", flags.shared, "Share it with others who share it");
  const option exclusive = words.add_flag("-x,--exclusive", flags.exclusive,
                                          "Alone (the default), where others share it");
  shared.excludes(exclusive);
  words.add_option("--permits", flags.permits, "Take one of N permits: at most N at a time")
      .excludes(shared)
      .excludes(exclusive);
  const option code = words.add_option("-E,--conflict-exit-code", flags.conflict_code,
                                       "Exit with N, not 75, when the lock is not to be had");
  words.add_flag("--busy-ok", flags.busy_ok, "Exit with 0 when the lock is not to be had")
      .excludes(code);
}

claim_request read_claim(const claim_flags& flags) {
  claim_request wanted;
  if (flags.shared) wanted.mode = claim_mode::shared;
  wanted.among_readers = flags.exclusive;
  if (flags.permits) {
    wanted.mode = claim_mode::permit;
    wanted.permits = *flags.permits;
    if (wanted.permits < 1) {
      throw usage_error{"--permits is " + std::to_string(wanted.permits) + ": expected 1 or more"};
    }
  }
  if (flags.no_wait) wanted.wait = duration::zero();
  if (flags.wait) wanted.wait = read_time("--wait", *flags.wait);
  const int code = flags.conflict_code.value_or(exit_code::busy);
  if (code < 0 || code > 255) {
    throw usage_error{"-E is " + std::to_string(code) + ": an exit code is 0 to 255"};
  }
  wanted.busy_code = flags.busy_ok ? exit_code::success : code;
  return wanted;
}

waited wait_for(const client& locks, const lock_name& name, const claim_request& wanted,
                const listening& to, std::optional<duration> fixed_lease) {
  std::stop_source stop;
  std::optional<acquire_result> result;
  begin(locks, name, wanted, {.lease = fixed_lease, .stop = stop.get_token()},
        [&result](acquire_result came) { result = std::move(came); });
  waiting_note note{locks, name};
  waited outcome;
  while (!result) {
    pollfd both[] = {{to.answers.descriptor(), POLLIN, 0},
                     {outcome.ended_by == 0 ? to.signals.descriptor() : -1, POLLIN, 0}};
    poll(both, std::size(both), outcome.ended_by == 0 ? note.milliseconds_left() : -1);
    to.answers.run();
    if (result) break;
    const auto news = to.signals.next();
    if (news && ends_a_wait(*news)) {
      outcome.ended_by = *news;
      stop.request_stop();
      to.signals.let_through();  // a second one need not wait until the place in line is given up
    } else if (!news) {
      note.look();
    }
  }
  if (outcome.ended_by != 0) return outcome;  // and lets go of what may have come in between
  if (result->failure) std::rethrow_exception(result->failure);
  outcome.held = std::move(result->hold);
  return outcome;
}

std::string busy_text(const client& locks, const lock_name& name) {
  std::string text = "'" + name.str() + "' is busy";
  try {
    const lock_info seen = locks.look(name.view());
    if (!seen.holders.empty()) text += ": " + describe(seen.holders.front());
  } catch (const error&) {
    // That it is busy is known; who is in the way is an extra.
  }
  return text +
         "; --wait TIME waits for it, and without -n and --wait it waits as long as it takes";
}

}  // namespace crosslock::cli
