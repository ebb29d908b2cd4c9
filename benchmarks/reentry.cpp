// Taking a lock again that this thread holds.
#include "benchmarks/processes.hpp"
#include "benchmarks/workload.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>
#include <string>

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

/// Whether re-entry makes system calls; empty when that cannot be found out here.
std::optional<bool> makes_system_calls(subject& subject, surroundings& around) {
  constexpr int patience_ms = 3000;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  processes child;
  child.start({std::string{reenter}, std::string{around.engine_name}, std::string{subject.name()},
               subject.address(), around.fresh_name(), std::to_string(ends[1])},
              ends[1]);
  close(ends[1]);
  pollfd heard{.fd = ends[0], .events = POLLIN, .revents = 0};
  char word = 0;
  const bool answered = poll(&heard, 1, patience_ms) == 1;
  const bool silent = answered && read(ends[0], &word, 1) == 1;
  close(ends[0]);
  return !silent;
}

}  // namespace

/// In a process of its own, which the kernel ends at a system call; it says so when there was none.
/// Then it stays until it is killed: what ends a process properly are system calls.
int reenter_without_system_calls(std::span<char* const> words) {
  if (words.size() != 5) return 1;
  const auto subject = join(words[0], words[1], words[2]);
  const int tell = std::stoi(words[4]);
  const auto lock = subject->enter(words[3]);
  lock->again(batch);
  if (!forbid_system_calls()) return 1;
  lock->again(batch);
  static_cast<void>(!write(tell, "+", 1));
  for (;;) {
  }
}

measured run_reentry(subject& subject, surroundings& around) {
  measured result;
  result.system_calls = makes_system_calls(subject, around);

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
