#include "cli/running/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace crosslock::cli {

terminal::terminal() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  const int opened = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (opened >= 0) device_ = {opened, "open"};
}

bool terminal::is_ours() const noexcept { return is_with(getpgrp()); }

bool terminal::is_with(pid_t group) const noexcept {
  return device_.get() >= 0 && tcgetpgrp(device_.get()) == group;
}

void terminal::give_to(pid_t group) const noexcept {
  if (device_.get() >= 0) tcsetpgrp(device_.get(), group);
}

void terminal::take_back_from(pid_t group) const noexcept {
  if (device_.get() < 0) return;
  const pid_t front = tcgetpgrp(device_.get());
  const bool gone = front > 1 && kill(-front, 0) != 0 && errno == ESRCH;
  if (front == group || gone) tcsetpgrp(device_.get(), getpgrp());
}

}  // namespace crosslock::cli
