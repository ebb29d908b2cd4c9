// Each job plays every n-th seed and tells the parent through a pipe, in records of its own memory:
// both are the same program. Which seed it is at stands in shared memory, in case it dies.
#include "simulation/jobs.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace crosslock::simulation {

namespace {

struct job {
  pid_t pid = -1;
  int pipe = -1;
  std::uint64_t next = 0;  ///< the first seed it plays, then every jobs-th
};

class writer {
 public:
  explicit writer(int to) : to_{to} {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(&value, sizeof value);
  }
  void put_text(const std::string& text) {
    put(text.size());
    put_bytes(text.data(), text.size());
  }

 private:
  void put_bytes(const void* from, std::size_t count) {
    const char* at = static_cast<const char*>(from);
    while (count > 0) {
      const ssize_t done = ::write(to_, at, count);
      if (done <= 0) std::_Exit(1);
      at += done;
      count -= static_cast<std::size_t>(done);
    }
  }

  int to_;
};

class reader {
 public:
  explicit reader(int from) : from_{from} {}

  template <class T>
  bool get(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return get_bytes(&value, sizeof value);
  }
  bool get_text(std::string& text) {
    std::size_t size = 0;
    if (!get(size)) return false;
    text.resize(size);
    return get_bytes(text.data(), size);
  }

 private:
  bool get_bytes(void* to, std::size_t count) {
    char* at = static_cast<char*>(to);
    while (count > 0) {
      const ssize_t done = ::read(from_, at, count);
      if (done <= 0) return false;
      at += done;
      count -= static_cast<std::size_t>(done);
    }
    return true;
  }

  int from_;
};

/// In the child.
void work(const batch& what, std::uint64_t next, volatile std::uint64_t& at, int pipe) {
  const std::uint64_t end = what.first + what.seeds;
  const auto stride = static_cast<std::uint64_t>(what.jobs);
  batch_result mine;
  bool found = false;
  for (std::uint64_t seed = next; seed < end && !found; seed += stride) {
    at = seed;
    const outcome result = what.play(seed);
    ++mine.played;
    mine.seen.add(result.seen);
    mine.digest += result.digest ^ (seed * 0x9e3779b97f4a7c15U);
    found = what.enough && what.enough(result);
    if (found) mine.found.push_back(seed);
    if (result.failure.empty()) continue;
    const bool shown = mine.failed.size() < what.failures_shown;
    mine.failed.push_back({seed, shown ? result.failure : std::string{}});
  }
  writer out{pipe};
  out.put(mine.played);
  out.put(mine.seen);
  out.put(mine.digest);
  out.put(found ? mine.found.front() : std::uint64_t{0});
  out.put(found);
  out.put(mine.failed.size());
  for (const failed_seed& each : mine.failed) {
    out.put(each.seed);
    out.put_text(each.text);
  }
}

bool collect(int pipe, batch_result& into) {
  reader in{pipe};
  batch_result theirs;
  std::uint64_t found_at = 0;
  bool found = false;
  std::size_t failures = 0;
  const bool whole = in.get(theirs.played) && in.get(theirs.seen) && in.get(theirs.digest) &&
                     in.get(found_at) && in.get(found) && in.get(failures);
  if (!whole) return false;
  for (std::size_t i = 0; i < failures; ++i) {
    failed_seed each;
    if (!in.get(each.seed) || !in.get_text(each.text)) return false;
    into.failed.push_back(std::move(each));
  }
  into.played += theirs.played;
  into.seen.add(theirs.seen);
  into.digest += theirs.digest;
  if (found) into.found.push_back(found_at);
  return true;
}

job start(const batch& what, std::uint64_t next, volatile std::uint64_t& at) {
  int ends[2];
  std::fflush(nullptr);
  if (::pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("cannot fork");
  if (pid == 0) {
    ::close(ends[0]);
    work(what, next, at, ends[1]);
    std::fflush(nullptr);
    std::_Exit(0);  // worlds that got stuck have threads that never end
  }
  ::close(ends[1]);
  return {pid, ends[0], next};
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return std::string{"died: "} + ::strsignal(WTERMSIG(status));
  return "ended early with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

batch_result play_all(const batch& what) {
  const auto count = static_cast<std::size_t>(what.jobs);
  const std::size_t bytes = count * sizeof(std::uint64_t);
  void* const shared =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("cannot map shared memory");
  auto* const at = static_cast<volatile std::uint64_t*>(shared);

  batch_result all;
  std::vector<job> running;
  for (std::size_t i = 0; i < count; ++i) running.push_back(start(what, what.first + i, at[i]));
  for (std::size_t i = 0; i < count; ++i) {
    for (;;) {
      const bool whole = collect(running[i].pipe, all);
      ::close(running[i].pipe);
      int status = 0;
      ::waitpid(running[i].pid, &status, 0);
      if (whole && status == 0) break;
      // What it had played before is not counted; it was not seen to fail.
      all.failed.push_back({at[i], "the process " + describe_end(status) + "\n"});
      running[i] = start(what, at[i] + count, at[i]);
    }
  }
  ::munmap(shared, bytes);
  std::sort(all.failed.begin(), all.failed.end(),
            [](const failed_seed& a, const failed_seed& b) { return a.seed < b.seed; });
  std::sort(all.found.begin(), all.found.end());
  return all;
}

}  // namespace crosslock::simulation
