// One holds, another waits: how long after the release is it in?
#include "benchmarks/floors/in_process.hpp"
#include "benchmarks/workload.hpp"

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

namespace crosslock::bench {
namespace {

using steady = std::chrono::steady_clock;

/// Waits for the lock over and over, each time when it is told to.
class waiter {
 public:
  waiter(party& party, bool async) : party_{party}, async_{async} {
    if (!async_) thread_ = std::jthread{[this] { wait_by_thread(); }};
  }
  ~waiter() {
    over_ = true;
    go_.release();
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  void begin() {
    if (!async_) return go_.release();
    const bool asked = party_.lock_async([this] {
      in_ = steady::now();
      done_.release();
    });
    if (!asked) throw std::logic_error{"this subject has no asynchronous wait"};
  }

  /// When it was in; it has let go since.
  steady::time_point end() {
    done_.acquire();
    if (async_) party_.unlock();
    return in_;
  }

 private:
  void wait_by_thread() {
    for (go_.acquire(); !over_; go_.acquire()) {
      party_.lock();
      in_ = steady::now();
      party_.unlock();
      done_.release();
    }
  }

  party& party_;
  const bool async_;
  std::atomic<bool> over_{false};
  steady::time_point in_;
  std::binary_semaphore go_{0};
  std::binary_semaphore done_{0};
  std::jthread thread_;
};

class standard_readers final : public subject {
 public:
  std::string_view name() const override { return "shared_mutex"; }

  parties assemble(const setting& setting) override {
    parties made;
    const auto lock = std::make_shared<std::shared_mutex>();
    for (std::size_t i = 0; i < setting.count; ++i) {
      made.push_back(std::make_unique<standard_reader>(lock));
    }
    return made;
  }
  std::unique_ptr<reentrant> enter(const std::string&) override { return nullptr; }
  std::unique_ptr<held_locks> hold_many(const std::string&, std::size_t,
                                        std::chrono::milliseconds) override {
    return nullptr;
  }
};

}  // namespace

measured run_waits(subject& subject, bool async, surroundings& around) {
  using namespace std::chrono_literals;
  // Long enough for the waiter to stand in line and for everything to have come to rest.
  constexpr auto in_line = 1ms;
  const parties both = subject.assemble({setting::kind::clients, 2, around.fresh_name()});
  party& holder = *both[0];
  // The floors have one way to wait.
  waiter next{*both[1], async && subject.name() == "crosslock"};
  measured result;
  std::vector<double> seconds_each;
  const auto warm = steady::now() + around.span / 8;
  const auto end = warm + around.span;
  for (auto now = steady::now(); now < end || seconds_each.empty(); now = steady::now()) {
    holder.lock();
    next.begin();
    std::this_thread::sleep_for(in_line);
    const auto released = steady::now();
    holder.unlock();
    const auto took = next.end() - released;
    if (now < warm) continue;
    result.latency.add(took);
    seconds_each.push_back(seconds{took}.count());
  }
  const auto middle = seconds_each.begin() + static_cast<std::ptrdiff_t>(seconds_each.size() / 2);
  std::ranges::nth_element(seconds_each, middle);
  result.rate = 1 / *middle;
  return result;
}

std::unique_ptr<subject> make_standard_readers() { return std::make_unique<standard_readers>(); }

}  // namespace crosslock::bench
