// One loop over three descriptors: messages, signals, and a timer on the clock of leases, which
// goes on while the machine is suspended.
#include "cli/running/guarding.hpp"

#include "cli/running/alarm.hpp"
#include "cli/running/group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

/// How often it is asked whether those whom the command has left behind are gone.
constexpr duration between_counts = 10ms;

/// Ours, and what the command may want to know of its lock.
std::vector<std::string> environment_for(const std::string& name, const order& facts,
                                         int lost_descriptor) {
  const std::pair<std::string, std::string> all[] = {
      {"CROSSLOCK_NAME=", name},
      {"CROSSLOCK_FENCE=", facts.fence.data()},
      {"CROSSLOCK_OWNER_ID=", facts.owner.data()},
      {"CROSSLOCK_ENGINE=", facts.engine.data()},
      {"CROSSLOCK_LOST_FD=", std::to_string(lost_descriptor)},
  };
  std::vector<std::string> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry{*each};
    const bool ours = std::any_of(std::begin(all), std::end(all),
                                  [&](const auto& fact) { return entry.starts_with(fact.first); });
    if (!ours) environment.emplace_back(entry);
  }
  for (const auto& [variable, value] : all) environment.push_back(variable + value);
  return environment;
}

/// Every signal waits; those of the terminal and of people are meant for the program.
descriptor block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGCHLD);
  return {signalfd(-1, &told, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"};
}

class watchman {
 public:
  watchman(const guarded& what, descriptor socket)
      : what_{what}, socket_{std::move(socket)}, children_{block_all_signals()} {}

  /// Until the program is gone, and the group too.
  void run() {
    while (program_lives_ || !group_over()) {
      wait();
      read_messages();
      launch();
      look_at_group();
      look_at_clock();
    }
  }
  /// For when this process itself must give up.
  void kill_group() noexcept {
    if (group_) group_->send(SIGKILL);
  }

 private:
  bool group_over() noexcept { return !group_ || group_->is_gone(); }

  void wait() {
    const bool counting = ended_ && !gone_told_;
    pollfd all[] = {{program_lives_ ? socket_.get() : -1, POLLIN, 0},
                    {children_.get(), POLLIN, 0},
                    {group_ ? group_->descriptor() : -1, POLLIN, 0},
                    {alarm_.descriptor(), POLLIN, 0}};
    poll(all, std::size(all), counting || !program_lives_ ? between_counts / 1ms : -1);
    if (all[2].revents != 0) look_at_beginning();
    signalfd_siginfo ignored{};
    while (::read(children_.get(), &ignored, sizeof ignored) > 0) {
    }
  }

  void read_messages() {
    order message;
    while (program_lives_) {
      const arrival got = receive_message(socket_.get(), message);
      if (got == arrival::none) return;
      if (got == arrival::closed) {
        program_lives_ = false;
        // Where the engine sees that a process is dead, its lock may be free any moment.
        kill_group();
        return;
      }
      obey(message);
    }
  }

  void obey(const order& message) {
    switch (message.what) {
      case order::kind::launch:
        to_launch_ = message;
        times_ = message.times;
        break;
      case order::kind::keep:
        if (!stopping_) times_ = message.times;
        break;
      case order::kind::pass_on:
        launch();  // who is meant by the signal must be there
        if (group_) group_->send(message.signal);
        break;
      case order::kind::stop:
        times_.kill_at = std::min(times_.kill_at, message.times.kill_at);
        if (!stopping_) times_ = message.times;
        break;
    }
  }

  /// Only when all messages are read: we may have been frozen since the first of them came.
  void launch() {
    if (!to_launch_) return;
    const order message = *std::exchange(to_launch_, std::nullopt);
    if (!program_lives_) return;
    if (boot_clock::now() >= times_.ask_at) return tell(report::kind::too_late, 0);
    start(message);
  }

  void start(const order& message) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return tell(report::kind::cannot_launch, errno);
    const descriptor news{ends[0], "pipe2"};
    loss_ = {ends[1], "pipe2"};
    const auto environment = environment_for(what_.name, message, news.get());
    try {
      group_ = group::start({.words = what_.command,
                             .environment = environment,
                             .foreground = message.in_foreground ? &what_.keyboard : nullptr,
                             .inherited = news.get(),
                             .socket = socket_.get()});
    } catch (const std::system_error& why) {
      return tell(report::kind::cannot_launch, why.code().value());
    }
    // Whoever reads what the command writes must see its end when the command ends.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
  }

  void look_at_beginning() {
    failure_ = group_->begun();
    if (failure_ == 0) tell(report::kind::running, 0);
  }

  void look_at_group() {
    if (!group_ || gone_told_) return;
    for (const group::change& each : group_->look()) {
      const bool ended = each.what == group::change::kind::ended;
      if (ended) ended_ = true;
      // Whoever has ended has either become the command before, or said why not.
      if (ended && group_->descriptor() >= 0) look_at_beginning();
      if (failure_ == 0) tell(ended ? report::kind::ended : report::kind::paused, each.number);
    }
    if (!program_lives_) kill_group();  // also who was born after the first time
    if (!group_->is_gone()) return;
    gone_told_ = true;
    tell(failure_ == 0 ? report::kind::gone : report::kind::cannot_launch, failure_);
  }

  void look_at_clock() {
    if (!group_ || gone_told_) return alarm_.set(time_point::max());
    const time_point now = boot_clock::now();
    if (!stopping_ && now >= times_.ask_at) {
      stopping_ = true;
      tell(report::kind::stopping, 0);
      // Its reader may be gone: SIGPIPE is blocked as all others are.
      if (::write(loss_.get(), "!", 1) < 0) loss_.close();
      if (what_.on_lost != 0) {
        group_->send(what_.on_lost);
        group_->send(SIGCONT);  // or one that was stopped would never hear it
      }
    }
    if (stopping_ && now >= times_.kill_at) {
      kill_group();
      times_.kill_at = now + between_counts;  // once more, for who was born meanwhile
    }
    alarm_.set(stopping_ ? times_.kill_at : times_.ask_at);
  }

  void tell(report::kind what, int number) { send_message(socket_.get(), report{what, number}); }

  const guarded& what_;
  const descriptor socket_;
  const descriptor children_;
  alarm alarm_;
  descriptor loss_;  ///< the command can read its other end
  std::optional<group> group_;
  std::optional<order> to_launch_;
  stop_times times_;
  int failure_ = 0;  ///< why the command could not be executed, as errno
  bool program_lives_ = true;
  bool stopping_ = false;
  bool ended_ = false;
  bool gone_told_ = false;
};

}  // namespace

void guard(const guarded& what, descriptor socket) {
  // A group of its own: what is sent to that of the program, or typed, is not meant for it.
  setpgid(0, 0);
  prctl(PR_SET_NAME, "crosslock-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  try {
    watchman here{what, std::move(socket)};
    try {
      here.run();
    } catch (...) {
      here.kill_group();
      _exit(70);
    }
  } catch (const std::exception&) {
    _exit(70);  // before there was a command
  }
  _exit(0);
}

}  // namespace crosslock::cli
