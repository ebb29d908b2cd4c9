#include "cli/standard_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>

namespace crosslock::cli {
namespace {

/// What a pipe takes without blocking when it says that it takes anything.
constexpr std::size_t at_once = 4096;

[[noreturn]] void refuse(int why) {
  throw std::runtime_error{std::string{"standard output cannot be written to: "} +
                           std::strerror(why)};
}

/// The first signal that has come and ends what is being done; 0: none.
int next_end(signal_inbox& signals) {
  while (const auto news = signals.next()) {
    if (ends_a_wait(*news)) return *news;
  }
  return 0;
}

}  // namespace

void require_standard_output() {
  // main() has put something in the place of one that was closed, and only that ends at an exec.
  const int flags = fcntl(STDOUT_FILENO, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC) != 0) refuse(EBADF);
  std::signal(SIGPIPE, SIG_IGN);
}

int write_out(std::string_view text, signal_inbox& signals) {
  while (!text.empty()) {
    if (const int signal = next_end(signals)) return signal;
    pollfd both[] = {{STDOUT_FILENO, POLLOUT, 0}, {signals.descriptor(), POLLIN, 0}};
    poll(both, std::size(both), -1);
    if (both[0].revents == 0) continue;
    const ssize_t written = write(STDOUT_FILENO, text.data(), std::min(text.size(), at_once));
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EAGAIN && errno != EINTR) {
      refuse(errno);
    }
  }
  return 0;
}

}  // namespace crosslock::cli
