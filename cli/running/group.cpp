// fork and exec. A failed exec is told through a pipe that a successful one closes.
#include "cli/running/group.hpp"

#include "cli/exit_code.hpp"
#include "cli/running/guardian_protocol.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace crosslock::cli {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// In the child, with every signal still blocked.
[[noreturn]] void become(const launch& how, char* const* words, char* const* environment,
                         pid_t parent, int failure) {
  setpgid(0, 0);
  if (how.foreground != nullptr) how.foreground->give_to(getpid());
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before we could ask to be told
  // By ourselves: a guardian that is killed now could not, and the program must know whom to kill.
  send_message(how.socket, report{report::kind::started, getpid()});
  fcntl(how.inherited, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(words[0], words, environment);
  const int why = errno;
  // A pipe takes four bytes at once; if the reader is gone, nobody wants to know.
  if (::write(failure, &why, sizeof why) < 0) _exit(126);
  _exit(127);
}

}  // namespace

group group::start(const launch& how) {
  const auto words = pointers_to(how.words);
  const auto environment = pointers_to(how.environment);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe2"};
  }
  cli::descriptor beginning{ends[0], "pipe2"};
  const cli::descriptor failure{ends[1], "pipe2"};
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (pid == 0) become(how, words.data(), environment.data(), self, failure.get());
  setpgid(pid, pid);  // whoever of the two comes first
  return {pid, std::move(beginning)};
}

int group::begun() noexcept {
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(beginning_->get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  beginning_.reset();
  return got == sizeof why ? why : 0;
}

void group::send(int signal) noexcept {
  // As long as anybody is in it, no other group can get its number.
  if (!is_gone()) kill(-leader_, signal);
}

std::vector<group::change> group::look() {
  std::vector<change> seen;
  for (;;) {
    int status = 0;
    const pid_t who = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (who < 0 && errno == EINTR) continue;
    if (who < 0 && errno == ECHILD && !leader_ended_) {
      // Nobody knows how. A guardian must not wait for it for ever.
      leader_ended_ = true;
      seen.push_back({change::kind::ended, exit_code::internal});
    }
    if (who <= 0) return seen;
    if (who != leader_) continue;
    if (WIFSTOPPED(status)) {
      seen.push_back({change::kind::paused, WSTOPSIG(status)});
    } else {
      leader_ended_ = true;
      seen.push_back({change::kind::ended,
                      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)});
    }
  }
}

bool group::is_gone() noexcept {
  // Until it has been waited for, the leader itself keeps the number.
  if (!gone_ && leader_ended_) gone_ = !others_.anybody_in(leader_);
  return gone_;
}

}  // namespace crosslock::cli
