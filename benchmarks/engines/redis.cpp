// The redis engine: a private redis-server, floors and rivals written with hiredis, and other
// libraries of the same key format in their own languages; all on that one server.
#include "benchmarks/engines/engine.hpp"
#include "benchmarks/engines/far_relay.hpp"
#include "benchmarks/engines/redis_server.hpp"
#include "benchmarks/floors/in_process.hpp"
#include "benchmarks/floors/redis_keys.hpp"
#include "benchmarks/floors/redis_latch.hpp"
#include "benchmarks/floors/redis_queue.hpp"
#include "benchmarks/peer_subject.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

namespace crosslock::bench {
namespace {

/// Everything with hiredis; which of it is said by the name.
class redis_subject final : public subject {
 public:
  redis_subject(std::string_view name, int port) : name_{name}, port_{port} {}

  std::string_view name() const override { return name_; }
  std::string address() const override { return std::to_string(port_); }

  parties assemble(const setting& setting) override {
    parties made;
    const auto inside = std::make_shared<fifo_futex_lock>();
    for (std::size_t i = 0; i < setting.count; ++i) {
      const std::string own = setting.name + "/" + std::to_string(i);
      if (setting.apart()) {
        made.push_back(std::make_unique<key_party>(port_, own, name_ != "set_nx"));
      } else if (setting.who == setting::kind::threads) {
        made.push_back(std::make_unique<futex_party>(inside));
      } else if (name_ == "redisson") {
        made.push_back(std::make_unique<latch_party>(port_, setting.name));
      } else {
        made.push_back(std::make_unique<queue_party>(port_, setting.name));
      }
    }
    return made;
  }

  std::unique_ptr<reentrant> enter(const std::string&) override {
    return std::make_unique<standard_reentrant>();
  }

  std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                        std::chrono::milliseconds lease) override {
    return std::make_unique<held_keys>(port_, prefix, count, lease);
  }

 private:
  const std::string name_;
  const int port_;
};

/// What must be known of a workload's numbers, and what the engine is meant to reach.
const std::map<std::string_view, std::string_view> remarks{
    {"own_name_1",
     "floor: two EVALSHA, with a fence; set_nx: SET NX PX + EVALSHA, without; aim: 1.0 of the "
     "floor, 2 requests, no malloc"},
    {"own_name_16", "floor: a connection per thread; aim: 1.9"},
    {"own_name_64", "floor: a connection per thread; aim: 3"},
    {"own_name_1_waits", "with unlock=waits"},
    {"own_name_16_waits", "with unlock=waits"},
    {"own_name_64_waits", "with unlock=waits"},
    {"own_name_1_far", "the server is 1 ms away, there and back; aim: 2"},
    {"handover_processes_4",
     "floor: BLPOP and RPUSH of one token; redisson: its protocol with hiredis, its DEL not "
     "counted; aim: 0.60 of the floor, 2 of redisson, 3.1 requests, max/min 1.2, p99 2.5 p50"},
    {"pass_threads_8", "floor: a first-come futex lock; aim: 0.6"},
    {"waiters_8", "floor: BLPOP and RPUSH of one token; redisson: its protocol with hiredis"},
    {"waiters_256", "aim: 0.9 of waiters_8, requests as there"},
    {"semaphore_1", "floor: as own_name_1; aim: 0.90 of own_name_1"},
    {"shared_threads_8", "floor: two EVALSHA each, on keys of their own"},
    {"wait_blocking", "from the release to the waiter; floor: BLPOP and RPUSH of one token"},
    {"wait_async", "floor: as wait_blocking; aim: 1 / 1.3 = 0.77 of wait_blocking"},
    {"renew_10000",
     "floor: EVALSHA by 256 to a round trip; aim: 5 us of CPU and 0.05 round trips each"},
};

class redis_engine final : public engine {
 public:
  redis_engine() {
    if (std::system("/usr/bin/python3 -c 'import redis' 2>/dev/null") != 0) {
      missing_ += "; redis-py is left out: python3-redis is not installed";
    } else {
      has_redis_py_ = true;
    }
    if (!std::filesystem::exists(CROSSLOCK_NODE_FOLDER "/node_modules/redlock")) {
      missing_ += "; redlock is left out: npm or its packages are not installed";
    } else {
      has_redlock_ = true;
    }
    for (const auto& [workload, text] : remarks) notes_[workload] = text;
    for (const std::string_view workload : with_peers) notes_[workload] += missing_;
  }

  std::vector<std::string_view> variants() const override { return {"waits", "far"}; }

  std::string url(std::string_view variant) const override {
    const std::string where = "redis://127.0.0.1:";
    if (variant == "far") return where + std::to_string(far_.port());
    return where + std::to_string(server_.port()) + (variant == "waits" ? "?unlock=waits" : "");
  }

  std::unique_ptr<subject> floor(std::string_view variant) override {
    if (variant != "far") return with_hiredis("floor");
    return std::make_unique<redis_subject>("floor", far_.port());
  }

  std::vector<std::unique_ptr<subject>> rivals(std::string_view workload,
                                               std::string_view) override {
    std::vector<std::unique_ptr<subject>> made;
    if (workload == "own_name_1") made.push_back(with_hiredis("set_nx"));
    if (workload == "handover_processes_4" || workload == "waiters_8") {
      made.push_back(with_hiredis("redisson"));
    }
    if (std::ranges::find(with_peers, workload) == std::end(with_peers)) return made;
    const std::string port = std::to_string(server_.port());
    if (has_redis_py_) {
      const std::string program = CROSSLOCK_PEERS_FOLDER "/redis_py.py";
      const std::vector<std::string> command{"/usr/bin/python3", program, port};
      const auto polling = [&](const std::string& pause) {
        auto words = command;
        words.push_back(pause);
        return words;
      };
      made.push_back(make_peer_subject("redis-py", polling("0")));
      if (workload.starts_with("handover")) {
        made.push_back(make_peer_subject("redis-py 1ms", polling("0.001")));
      }
    }
    if (has_redlock_) {
      const std::string program = CROSSLOCK_PEERS_FOLDER "/redlock.mjs";
      made.push_back(make_peer_subject("redlock", {"node", program, CROSSLOCK_NODE_FOLDER, port}));
    }
    return made;
  }

  std::uint64_t requests() const override { return server_.commands(); }
  std::uint64_t round_trips() const override { return server_.reads(); }
  bool counts(std::string_view subject) const override {
    return subject == "floor" || subject == "crosslock" || subject == "redisson";
  }

  std::string_view note(std::string_view workload) const override {
    const auto found = notes_.find(workload);
    return found == notes_.end() ? std::string_view{} : std::string_view{found->second};
  }

 private:
  static constexpr std::string_view with_peers[] = {"own_name_1", "own_name_16",
                                                    "handover_processes_4"};

  std::unique_ptr<subject> with_hiredis(std::string_view name) const {
    return std::make_unique<redis_subject>(name, server_.port());
  }

  mutable redis_server server_;  // asking it for its statistics needs its connection
  const far_relay far_{server_.port(), std::chrono::milliseconds{1}};
  bool has_redis_py_ = false;
  bool has_redlock_ = false;
  std::string missing_;
  std::map<std::string_view, std::string> notes_;
};

const offer redis_offer{
    "redis", []() -> std::unique_ptr<engine> { return std::make_unique<redis_engine>(); },
    [](std::string_view name, const std::string& address) -> std::unique_ptr<subject> {
      return std::make_unique<redis_subject>(name, std::stoi(address));
    }};

}  // namespace
}  // namespace crosslock::bench
