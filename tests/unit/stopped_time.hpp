// A clock that can be stopped: what is counted by it goes no further, while threads run on.
#pragma once

#include "engine/clock.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace crosslock {

class stopped_time final : public seam::clock {
 public:
  void stop() { stopped_at_ = real().now().time_since_epoch().count(); }

  time_point now() const noexcept override {
    const duration::rep at = stopped_at_.load();
    return at == 0 ? real().now() : time_point{duration{at}};
  }
  void park(seam::park_word& word, std::uint32_t expected, time_point until) override {
    real().park(word, expected,
                until == time_point::max() ? until : real().now() + (until - now()));
  }
  void unpark(seam::park_word& word) noexcept override { real().unpark(word); }
  std::unique_ptr<seam::alarm> make_alarm() override { return real().make_alarm(); }
  std::unique_ptr<seam::thread> start(std::string_view name, std::function<void()> body) override {
    return real().start(name, std::move(body));
  }
  void fill_random(std::span<std::uint8_t> bytes) override { real().fill_random(bytes); }

 private:
  static seam::clock& real() { return seam::real_clock(); }
  std::atomic<duration::rep> stopped_at_{0};
};

}  // namespace crosslock
