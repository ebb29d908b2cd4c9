// signalfd(2): no handler runs, so nothing can be interrupted at a bad moment.
#include "cli/signals.hpp"

#include <sys/signalfd.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string>

namespace crosslock::cli {
namespace {

constexpr int worth_waiting_for[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

bool is_ignored(int signal) noexcept {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

signal_inbox::signal_inbox() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  for (const int each : worth_waiting_for) {
    if (!is_ignored(each)) sigaddset(&wanted, each);
  }
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  arrivals_ = {signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"};
}

std::optional<int> signal_inbox::next() {
  signalfd_siginfo info{};
  if (::read(arrivals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void signal_inbox::let_through() noexcept { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool ends_a_wait(int signal) noexcept { return signal != SIGCHLD && signal != SIGCONT; }

int signal_number(std::string_view text) noexcept {
  std::string name;
  for (const char c : text) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known != nullptr && (name == known || name == std::to_string(number))) return number;
  }
  return 0;
}

void die_of(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);  // the first process of a container does not die of its own signals
}

}  // namespace crosslock::cli
