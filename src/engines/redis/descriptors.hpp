// Waking threads that poll, and telling how long they are at something.
#pragma once

#include <crosslock/time.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace crosslock::redis {

/// Waits that follow each other sooner than this are worth a listener of their own.
inline constexpr duration closely = std::chrono::milliseconds{30};

/// So long a client may keep whoever reads, or the thread by its own connection, before the others
/// hear elsewhere. A process that is stopped now and then, or very busy, is not meant.
inline constexpr duration news_allowance = std::chrono::milliseconds{250};
inline constexpr duration work_allowance = std::chrono::seconds{1};

/// Something that must have been done by then; 0 is said of what is not under way.
class under_way {
 public:
  under_way(std::atomic<duration::rep>& by, time_point then) noexcept : by_{by} {
    by_.store(then.time_since_epoch().count());
  }
  ~under_way() { by_.store(0); }
  under_way(const under_way&) = delete;
  under_way& operator=(const under_way&) = delete;

 private:
  std::atomic<duration::rep>& by_;
};

inline void ring_at(int eventfd) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(eventfd, &one, sizeof one));
}

inline void silence_at(int eventfd) noexcept {
  std::uint64_t rings = 0;
  static_cast<void>(!::read(eventfd, &rings, sizeof rings));
}

inline int poll_milliseconds(duration rest) {
  using std::chrono::milliseconds;
  if (rest <= duration::zero()) return 0;
  const auto whole = std::chrono::ceil<milliseconds>(rest);
  return static_cast<int>(std::min<milliseconds>(whole, std::chrono::minutes{1}).count());
}

}  // namespace crosslock::redis
