// The way to the user's log.
#pragma once

#include <crosslock/options.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace crosslock::seam {

/// What the user gave as options::log; silent if that was nothing. It may throw, and is called from
/// threads and noexcept functions that would end the process then: nothing else in the library
/// calls it. As thread-safe as what it calls.
class log {
 public:
  log() = default;
  template <std::invocable<log_level, std::string_view> To>
  requires(!std::same_as<std::remove_cvref_t<To>, log>) log(To&& to) : to_{std::forward<To>(to)} {}

  explicit operator bool() const noexcept { return static_cast<bool>(to_); }

  void operator()(log_level level, std::string_view line) const noexcept { say(level, line); }

  /// The parts as one line, which is put together only if anybody listens.
  template <class... Parts>
  void say(log_level level, const Parts&... parts) const noexcept {
    if (!to_) return;
    try {
      std::string line;
      (line += ... += parts);
      to_(level, line);
    } catch (...) {
      // A log that fails must not end what it was told about.
    }
  }

 private:
  std::function<void(log_level, std::string_view)> to_;
};

}  // namespace crosslock::seam
