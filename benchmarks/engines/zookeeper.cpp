// The zookeeper engine: a private server, floors by the bare C client, and other libraries of the
// same node names in their own languages; all on that one server.
#include "benchmarks/crosslock_subject.hpp"
#include "benchmarks/engines/engine.hpp"
#include "benchmarks/engines/zookeeper_server.hpp"
#include "benchmarks/floors/in_process.hpp"
#include "benchmarks/floors/zookeeper_line.hpp"
#include "benchmarks/floors/zookeeper_nodes.hpp"
#include "benchmarks/peer_subject.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

namespace crosslock::bench {
namespace {

constexpr std::string_view single = "single";
constexpr std::string_view session = "session";
constexpr const char* curator_jars =
    "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar";

/// Everything with the C client.
class zookeeper_subject final : public subject {
 public:
  explicit zookeeper_subject(int port) : port_{port} {}

  std::string_view name() const override { return "floor"; }
  std::string address() const override { return std::to_string(port_); }

  parties assemble(const setting& setting) override {
    parties made;
    const auto inside = std::make_shared<fifo_futex_lock>();
    const auto link = std::make_shared<shared_zookeeper_link>(port_);
    const std::string path = "/" + setting.name;
    for (std::size_t i = 0; i < setting.count; ++i) {
      if (setting.apart()) {
        made.push_back(std::make_unique<node_party>(link, path + "/" + std::to_string(i)));
      } else if (setting.who == setting::kind::threads) {
        made.push_back(std::make_unique<futex_party>(inside));
      } else {
        made.push_back(std::make_unique<line_party>(port_, path));
      }
    }
    return made;
  }

  std::unique_ptr<reentrant> enter(const std::string&) override {
    return std::make_unique<standard_reentrant>();
  }

  std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                        std::chrono::milliseconds) override {
    return std::make_unique<held_nodes>(port_, "/" + prefix + "held", count);
  }

 private:
  const int port_;
};

/// What must be known of a workload's numbers, and what the engine is meant to reach.
const std::map<std::string_view, std::string_view> remarks{
    {"own_name_1",
     "floor: the C client's create and delete; aim: 0.90 of the floor, more than curator"},
    {"own_name_16", "floor: create and delete, one session for all threads; aim: 0.90"},
    {"own_name_64", "floor: create and delete, one session for all threads; aim: 0.90"},
    {"semaphore_1", "floor: as own_name_1; a queue and a lease, as Curator has them"},
    {"handover_processes_4",
     "floor: the usual recipe with the C client; aim: 1.5 of curator, 4 requests, max/min 1.05"},
    {"pass_threads_8", "floor: a first-come futex lock; aim: 0.6"},
    {"shared_threads_8", "floor: create and delete each, on names of their own"},
    {"wait_blocking", "from the release to the waiter; floor: the usual recipe with the C client"},
    {"wait_async", "floor: as wait_blocking"},
    {"waiters_8", "floor: the usual recipe with the C client; requests include heartbeats"},
    {"waiters_256", "aim: 0.9 of waiters_8; requests include heartbeats"},
    {"waiters_2_single", "crosslock: strategy=single; line: the default; floor: the usual recipe"},
    {"waiters_64_single", "aim: none; every release tells everybody, and whoever is quick is in"},
    {"held_1", "ops/s: clients that one CPU could carry; req/op: requests a second"},
    {"held_10000", "aim: as held_1"},
    {"kill_to_grant", "a session of 10 s, which the server ends at the next of its ticks of 2 s"},
};

class zookeeper_engine final : public engine {
 public:
  zookeeper_engine() {
    const std::string compile = "javac -cp " + std::string{curator_jars} + " -d '" +
                                server_.folder().string() +
                                "' " CROSSLOCK_PEERS_FOLDER "/CuratorPeer.java 2>/dev/null";
    has_curator_ = std::system(compile.c_str()) == 0;
    has_kazoo_ = std::system("/usr/bin/python3 -c 'import kazoo' 2>/dev/null") == 0;
    std::string missing;
    if (!has_curator_) missing += "; curator is left out: libcurator-recipes-java or a JDK is not";
    if (!has_kazoo_) missing += "; kazoo is left out: python3-kazoo is not";
    if (!missing.empty()) missing += " installed";
    warm_up();
    for (const auto& [workload, text] : remarks) notes_[workload] = text;
    for (const std::string_view workload : with_peers) notes_[workload] += missing;
  }

  std::vector<std::string_view> variants() const override { return {single, session}; }
  seconds least_span() const override { return std::chrono::seconds{1}; }
  /// Nothing is renewed but the session: see held_*.
  bool plays(std::string_view workload) const override { return !workload.starts_with("renew_"); }

  std::string url(std::string_view variant) const override {
    const std::string plain = "zk://127.0.0.1:" + std::to_string(server_.port());
    return variant == single ? plain + "?strategy=single" : plain;
  }

  std::unique_ptr<subject> floor(std::string_view) override {
    return std::make_unique<zookeeper_subject>(server_.port());
  }

  std::vector<std::unique_ptr<subject>> rivals(std::string_view workload,
                                               std::string_view variant) override {
    std::vector<std::unique_ptr<subject>> made;
    if (variant == single) made.push_back(make_crosslock_subject(url({}), "line"));
    if (std::ranges::find(with_peers, workload) == std::end(with_peers)) return made;
    const std::string port = std::to_string(server_.port());
    if (has_curator_) {
      const std::string where = server_.folder().string() + ":" + curator_jars;
      made.push_back(make_peer_subject(
          "curator", {"java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", where, "CuratorPeer", port}));
    }
    if (has_kazoo_) {
      const std::string program = CROSSLOCK_PEERS_FOLDER "/kazoo_lock.py";
      made.push_back(make_peer_subject("kazoo", {"/usr/bin/python3", program, port}));
    }
    return made;
  }

  std::uint64_t requests() const override { return server_.packets(); }
  std::uint64_t notices() const override { return server_.notices(); }
  bool counts(std::string_view) const override { return true; }

  std::string_view note(std::string_view workload) const override {
    const auto found = notes_.find(workload);
    return found == notes_.end() ? std::string_view{} : std::string_view{found->second};
  }

 private:
  static constexpr std::string_view with_peers[] = {"own_name_1", "own_name_16", "own_name_64",
                                                    "handover_processes_4"};

  /// A server that has just started compiles while it runs, at the cost of whoever comes first.
  void warm_up() const {
    using steady = std::chrono::steady_clock;
    const auto everybody = zookeeper_subject{server_.port()}.assemble(
        {.who = setting::kind::own_names, .count = 8, .name = "warming"});
    const auto end = steady::now() + std::chrono::seconds{4};
    std::vector<std::jthread> threads;
    for (const auto& one : everybody) {
      threads.emplace_back([&party = *one, end] {
        while (steady::now() < end) {
          party.lock();
          party.unlock();
        }
      });
    }
  }

  mutable zookeeper_server server_;  // asking it for its statistics is counted
  bool has_curator_ = false;
  bool has_kazoo_ = false;
  std::map<std::string_view, std::string> notes_;
};

const offer zookeeper_offer{
    "zookeeper", []() -> std::unique_ptr<engine> { return std::make_unique<zookeeper_engine>(); },
    [](std::string_view, const std::string& address) -> std::unique_ptr<subject> {
      return std::make_unique<zookeeper_subject>(std::stoi(address));
    }};

}  // namespace
}  // namespace crosslock::bench
