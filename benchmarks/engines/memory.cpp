// The memory engine has no server and no client library: its floors are the least that a lock
// inside of one process must do.
#include "benchmarks/engines/engine.hpp"
#include "benchmarks/floors/in_process.hpp"
#include "engines/memory/connection.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

namespace crosslock::bench {
namespace {

/// The least a table of locks must do: enter the name, give it a fence, take it out.
struct lock_table {
  std::mutex mutex;
  std::unordered_map<std::string, std::int64_t> held;
  std::int64_t last_fence = 0;
};

class table_party final : public party {
 public:
  table_party(std::shared_ptr<lock_table> table, std::string name)
      : table_{std::move(table)}, name_{std::move(name)} {}

  std::int64_t lock() override {
    const std::lock_guard guard{table_->mutex};
    const auto fence = ++table_->last_fence;
    table_->held.emplace(name_, fence);
    return fence;
  }
  void unlock() override {
    const std::lock_guard guard{table_->mutex};
    table_->held.erase(name_);
  }

 private:
  const std::shared_ptr<lock_table> table_;
  const std::string name_;
};

/// One thread that sets all deadlines anew three times in a lease.
class table_of_deadlines final : public held_locks {
 public:
  table_of_deadlines(const std::string& prefix, std::size_t count, std::chrono::milliseconds lease)
      : lease_{lease} {
    names_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) names_.push_back(prefix + std::to_string(i));
    for (const auto& name : names_) deadlines_.emplace(name, moment::max());
    thread_ = std::jthread{[this](const std::stop_token& stop) { renew(stop); }};
  }

  std::uint64_t renewals() const override { return renewals_.load(); }

 private:
  using moment = std::chrono::steady_clock::time_point;

  void renew(const std::stop_token& stop) {
    std::unique_lock guard{mutex_};
    while (!wake_.wait_for(guard, stop, lease_ / 3, [&] { return stop.stop_requested(); })) {
      const moment end = std::chrono::steady_clock::now() + lease_;
      for (const auto& name : names_) deadlines_.find(name)->second = end;
      renewals_ += names_.size();
    }
  }

  const std::chrono::milliseconds lease_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, moment> deadlines_;
  std::atomic<std::uint64_t> renewals_{0};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

class memory_floor final : public subject {
 public:
  std::string_view name() const override { return "floor"; }

  parties assemble(const setting& setting) override {
    parties made;
    const auto table = std::make_shared<lock_table>();
    const auto lock = std::make_shared<fifo_futex_lock>();
    for (std::size_t i = 0; i < setting.count; ++i) {
      if (setting.apart()) {
        made.push_back(std::make_unique<table_party>(table, setting.name + std::to_string(i)));
      } else {
        made.push_back(std::make_unique<futex_party>(lock));
      }
    }
    return made;
  }

  std::unique_ptr<reentrant> enter(const std::string&) override {
    return std::make_unique<standard_reentrant>();
  }

  std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                        std::chrono::milliseconds lease) override {
    return std::make_unique<table_of_deadlines>(prefix, count, lease);
  }
};

class memory_engine final : public engine {
 public:
  std::string url(std::string_view) const override { return "memory:bench"; }

  std::unique_ptr<subject> floor(std::string_view) override {
    return std::make_unique<memory_floor>();
  }

  setting staged(const setting& asked, std::string_view) const override {
    if (asked.who != setting::kind::processes) return asked;
    return {setting::kind::clients, asked.count, asked.name};
  }

  std::uint64_t requests() const override {
    const auto network = memory::shared_network("bench", seam::real_clock());
    const auto& direct = dynamic_cast<const memory::direct_network&>(*network);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < memory::verb_count; ++i) {
      sum += direct.applied(static_cast<memory::verb>(i));
    }
    return sum;
  }

  std::string_view note(std::string_view workload) const override {
    if (workload.starts_with("handover_processes")) {
      return "clients of one process: this engine has no other processes";
    }
    return {};
  }
};

const offer memory_offer{
    "memory", []() -> std::unique_ptr<engine> { return std::make_unique<memory_engine>(); },
    [](std::string_view, const std::string&) -> std::unique_ptr<subject> {
      return std::make_unique<memory_floor>();
    }};

}  // namespace
}  // namespace crosslock::bench
