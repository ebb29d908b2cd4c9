// Time that also leaps, for an engine and for the server it speaks to.
#pragma once

#include "engine/clock.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock {

/// The real clock, and what was skipped. A server that is started `through` it skips as much.
class stepped_time final : public seam::clock {
 public:
  stepped_time() { write(0); }
  ~stepped_time() override { std::filesystem::remove(file()); }
  stepped_time(const stepped_time&) = delete;
  stepped_time& operator=(const stepped_time&) = delete;

  /// Called while no request is under way.
  void pass(std::chrono::seconds span) {
    skipped_ = skipped_.load() + span;
    write(skipped_.load().count());
  }
  /// The command that executes the server (clock_shim.cpp).
  std::vector<std::string> through() const {
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {"env", "LD_PRELOAD=" + (beside / "libcrosslock-clock-shim.so").string(),
            "CLOCK_SHIM_FILE=" + file().string()};
  }

  time_point now() const noexcept override { return real().now() + skipped_.load(); }
  void park(seam::park_word& word, std::uint32_t expected, time_point until) override {
    real().park(word, expected, without(until));
  }
  void unpark(seam::park_word& word) noexcept override { real().unpark(word); }
  std::unique_ptr<seam::alarm> make_alarm() override {
    return std::make_unique<stepped_alarm>(*this);
  }
  std::unique_ptr<seam::thread> start(std::string_view name, std::function<void()> body) override {
    return real().start(name, std::move(body));
  }
  void fill_random(std::span<std::uint8_t> bytes) override { real().fill_random(bytes); }

 private:
  class stepped_alarm final : public seam::alarm {
   public:
    explicit stepped_alarm(const stepped_time& of) : of_{of} {}
    void wait_until(time_point moment) override { real_->wait_until(of_.without(moment)); }
    void ring() noexcept override { real_->ring(); }

   private:
    const stepped_time& of_;
    const std::unique_ptr<seam::alarm> real_ = real().make_alarm();
  };

  static seam::clock& real() { return seam::real_clock(); }
  time_point without(time_point moment) const {
    return moment == time_point::max() ? moment : moment - skipped_.load();
  }
  static std::filesystem::path file() {
    return std::filesystem::temp_directory_path() /
           ("crosslock-time-" + std::to_string(::getpid()));
  }
  static void write(std::int64_t seconds) {
    // Over what is there: the server has it mapped.
    std::fstream out{file(), std::ios::in | std::ios::out | std::ios::binary};
    if (!out) out.open(file(), std::ios::out | std::ios::binary);
    out.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
  }

  std::atomic<std::chrono::seconds> skipped_{std::chrono::seconds{0}};
};

}  // namespace crosslock
