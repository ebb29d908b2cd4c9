// A lock as people write it with hiredis: a key with an owner and an expiry, deleted by its owner.
#pragma once

#include "benchmarks/floors/redis_link.hpp"
#include "benchmarks/subject.hpp"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace crosslock::bench {

inline constexpr std::string_view take_with_fence =
    "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "
    "return redis.call('incr', KEYS[2]) end return 0";
inline constexpr std::string_view delete_if_ours =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
inline constexpr std::string_view extend_if_ours =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

inline constexpr std::string_view key_owner = "0123456789abcdef0123456789abcdef";
inline constexpr std::string_view key_lease_ms = "30000";

/// Connects when it is first used: a lock that is never taken needs no connection.
class key_party final : public party {
 public:
  /// `fenced`: the taking script counts a fence, too; otherwise taking is a plain SET.
  key_party(int port, std::string name, bool fenced)
      : port_{port}, fenced_{fenced}, name_{std::move(name)}, fence_name_{name_ + ":fence"} {}

  std::int64_t lock() override {
    if (!link_) connect();
    for (;; sched_yield()) {
      if (!fenced_) {
        const auto said = link_->ask({"SET", name_, key_owner, "NX", "PX", key_lease_ms});
        if (said->type == REDIS_REPLY_STATUS) return 0;
        continue;
      }
      const auto said =
          link_->ask({"EVALSHA", take_, "2", name_, fence_name_, key_owner, key_lease_ms});
      if (said->integer > 0) return said->integer;
    }
  }

  void unlock() override {
    if (link_->ask({"EVALSHA", give_back_, "1", name_, key_owner})->integer != 1) {
      throw std::runtime_error{"the floor's key was not its own"};
    }
  }

 private:
  void connect() {
    link_.emplace(port_);
    take_ = link_->load(take_with_fence);
    give_back_ = link_->load(delete_if_ours);
  }

  const int port_;
  const bool fenced_;
  const std::string name_;
  const std::string fence_name_;
  std::optional<redis_link> link_;
  std::string take_;
  std::string give_back_;
};

/// One thread that extends all keys, three times in a lease, many to a round trip.
class held_keys final : public held_locks {
 public:
  held_keys(int port, const std::string& prefix, std::size_t count, std::chrono::milliseconds lease)
      : lease_{lease}, lease_ms_{std::to_string(lease.count())}, link_{port} {
    extend_ = link_.load(extend_if_ours);
    names_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) names_.push_back(prefix + std::to_string(i));
    // Together, so that the first of many does not run out before the last is there.
    for (const auto& name : names_) {
      link_.append({"SET", name, key_owner, "NX", "PX", lease_ms_});
    }
    for (std::size_t i = 0; i < count; ++i) link_.receive();
    thread_ = std::jthread{[this](const std::stop_token& stop) { renew(stop); }};
  }

  ~held_keys() override {
    thread_.request_stop();
    thread_.join();
    for (const auto& name : names_) link_.append({"DEL", name});
    for (std::size_t i = 0; i < names_.size(); ++i) link_.receive();
  }

  std::uint64_t renewals() const override {
    if (lost_) throw std::runtime_error{"a key ran out while its renewals were measured"};
    return renewals_.load();
  }

 private:
  static constexpr std::size_t batch = 256;

  void renew(const std::stop_token& stop) {
    std::unique_lock guard{mutex_};
    while (!wake_.wait_for(guard, stop, lease_ / 3, [&] { return stop.stop_requested(); })) {
      for (std::size_t first = 0; first < names_.size(); first += batch) {
        extend(first, std::min(names_.size(), first + batch));
      }
    }
  }

  void extend(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      link_.append({"EVALSHA", extend_, "1", names_[i], key_owner, lease_ms_});
    }
    for (std::size_t i = first; i < end; ++i) {
      if (link_.receive()->integer != 1) lost_ = true;
    }
    renewals_ += end - first;
  }

  const std::chrono::milliseconds lease_;
  const std::string lease_ms_;
  std::vector<std::string> names_;
  redis_link link_;
  std::string extend_;
  std::atomic<std::uint64_t> renewals_{0};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace crosslock::bench
