// fork and exec. What runs between the two is a copy of one thread of a program with several, so it
// may make system calls and nothing else. A failed exec is told through a pipe that a successful
// one closes.
#include "cli/running/child.hpp"

#include "cli/descriptor.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace crosslock::cli {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void become(char* const* words, char* const* environment, int failure) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(words[0], words, environment);
  const int why = errno;
  // A pipe takes four bytes at once; if the reader is gone, nobody wants to know.
  if (::write(failure, &why, sizeof why) < 0) _exit(126);
  _exit(127);
}

/// What the child wrote: zero when it has become the command.
int read_failure(int from) {
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(from, &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  return got == sizeof why ? why : 0;
}

}  // namespace

child child::start(const std::vector<std::string>& words,
                   const std::vector<std::string>& environment) {
  const auto word_pointers = pointers_to(words);
  const auto environment_pointers = pointers_to(environment);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  descriptor result{ends[0], "pipe2"};
  descriptor failure{ends[1], "pipe2"};

  const pid_t pid = fork();
  if (pid < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (pid == 0) become(word_pointers.data(), environment_pointers.data(), failure.get());
  failure.close();
  const int why = read_failure(result.get());
  if (why == 0) return child{pid};
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  throw cannot_execute{why == ENOENT ? 127 : 126,
                       "cannot run '" + words[0] + "': " + std::strerror(why)};
}

void child::send(int signal) noexcept {
  // Until it has been waited for, nobody else can have its pid.
  if (!code_) kill(pid_, signal);
}

void child::kill_and_wait() noexcept {
  send(SIGKILL);
  while (!code_ && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<int> child::exit_code() {
  if (code_) return code_;
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(pid_, &status, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0) throw std::system_error{errno, std::generic_category(), "waitpid"};
  if (ended == pid_) code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

}  // namespace crosslock::cli
