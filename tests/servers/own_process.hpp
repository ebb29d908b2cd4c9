// What every server of a test's own has: a folder, a process that is killed with it, a log.
#pragma once

#include "engine/clock.hpp"

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace crosslock::servers {

/// How long a server may take to start or to answer.
inline constexpr duration patience = std::chrono::seconds{20};

/// The process is killed with the object, or with the thread that started it, and the folder is
/// removed. Folders of tests that were killed are removed by the next one.
class own_process {
 public:
  /// `kind` stands in the name of the folder, which is under the system's place for such things:
  /// paths of sockets must be short.
  explicit own_process(const std::string& kind);
  own_process(const own_process&) = delete;
  own_process& operator=(const own_process&) = delete;
  ~own_process();

  const std::filesystem::path& folder() const noexcept { return folder_; }
  pid_t pid() const noexcept { return pid_; }
  bool runs() const noexcept { return pid_ > 0; }
  /// Without waiting.
  bool has_ended();
  /// The end of what it has printed.
  std::string log() const;

  /// Its command line; the first word is looked for where the shell would.
  void spawn(std::vector<std::string> words);
  void kill();  ///< kill -9
  void stop();  ///< SIGSTOP; its connections stay up
  void go_on();

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  const pid_t started_by_;  ///< a forked child of the test leaves everything alone
};

/// Below those that the system gives to outgoing connections, so that it stays free over a restart.
std::uint16_t free_port();

/// False when the answer is no until the end.
template <class Question>
bool eventually(Question&& question, duration within = patience) {
  const time_point end = seam::real_clock().now() + within;
  while (!question()) {
    if (seam::real_clock().now() >= end) return false;
    pollfd nothing{-1, 0, 0};
    ::poll(&nothing, 1, 1);
  }
  return true;
}

}  // namespace crosslock::servers
