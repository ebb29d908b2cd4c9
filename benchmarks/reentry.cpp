// Taking a lock again that this thread holds.
#include "benchmarks/workload.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>

namespace crosslock::bench {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t batch = 10'000;

/// From now on the kernel ends this thread at any system call but write. (Its own strict mode
/// would forbid reading the time stamp counter as well.)
bool forbid_system_calls() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What a forked child does: it connects by itself, and is killed by its parent.
[[noreturn]] void reenter_without_system_calls(subject& subject, const std::string& name,
                                               int tell) {
  try {
    const auto lock = subject.enter(name);
    lock->again(batch);
    if (forbid_system_calls()) {
      lock->again(batch);
      static_cast<void>(!write(tell, "+", 1));
    }
    for (;;) {
    }
  } catch (...) {
    _exit(1);
  }
}

/// Whether re-entry makes system calls; empty when that cannot be found out here.
std::optional<bool> makes_system_calls(subject& subject, const std::string& name) {
  constexpr int patience_ms = 3000;
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) reenter_without_system_calls(subject, name, ends[1]);
  close(ends[1]);
  std::optional<bool> found;
  if (child > 0) {
    pollfd heard{.fd = ends[0], .events = POLLIN, .revents = 0};
    char word = 0;
    const bool answered = poll(&heard, 1, patience_ms) == 1;
    found = !(answered && read(ends[0], &word, 1) == 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(ends[0]);
  return found;
}

}  // namespace

measured run_reentry(subject& subject, surroundings& around) {
  measured result;
  result.system_calls = makes_system_calls(subject, around.fresh_name());

  const auto lock = subject.enter(around.fresh_name());
  lock->again(batch);
  const std::uint64_t requests = around.engine.requests();
  const auto begin = steady::now();
  auto end = begin;
  std::uint64_t count = 0;
  for (; end - begin < around.span; end = steady::now()) {
    lock->again(batch);
    count += batch;
  }
  result.rate = static_cast<double>(count) / seconds{end - begin}.count();
  if (subject.name() == "crosslock") {
    result.requests_per_op =
        static_cast<double>(around.engine.requests() - requests) / static_cast<double>(count);
  }
  return result;
}

}  // namespace crosslock::bench
