#include "cli/running/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace crosslock::cli {

terminal::terminal() {
  const int opened = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (opened >= 0) device_ = {opened, "open"};
}

bool terminal::is_ours() const {
  return device_.get() >= 0 && tcgetpgrp(device_.get()) == getpgrp();
}

void terminal::give_to(pid_t group) const noexcept {
  if (device_.get() >= 0) tcsetpgrp(device_.get(), group);
}

void terminal::take_back() const noexcept {
  if (device_.get() < 0) return;
  // Whoever is in the background and does this is stopped, unless the signal for it is blocked.
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  tcsetpgrp(device_.get(), getpgrp());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace crosslock::cli
