// The fault suite over a library with a deliberate fault in it (src/engine/mutant.hpp): the checker
// must catch it, and must find nothing in the same story without the fault.
#include "checker/invariants.hpp"
#include "checker/recorder.hpp"
#include "conformance/witness.hpp"
#include "engine/mutant.hpp"
#include "proxy/fault_proxy.hpp"
#include "servers/zookeeper_server.hpp"
#include "servers/zookeeper_talk.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace crosslock::faults {
namespace {

using namespace std::chrono_literals;
using conformance::witnessed;

struct nothing_protected : conformance::resource {
  bool write(const std::string&, fence, std::int64_t) override { return true; }
  std::int64_t read(const std::string&) override { return 0; }
};

class zookeeper_mutants : public testing::TestWithParam<seam::mutant> {
 protected:
  void SetUp() override { seam::mutant_in_force = GetParam(); }
  void TearDown() override { seam::mutant_in_force = seam::mutant::none; }

  conformance::surroundings person(std::int32_t number) {
    return {.proc = number,
            .clock = &seam::real_clock(),
            .sleep = [](duration length) { std::this_thread::sleep_for(length); },
            .resource = &numbers_,
            .book = &book_};
  }
  static client connect(std::uint16_t port) {
    options how;
    how.lease = 4s;
    return crosslock::connect("zk://127.0.0.1:" + std::to_string(port) + "/case?tick=200ms", how);
  }

  servers::zookeeper_server server_;
  proxy::fault_proxy proxy_{proxy::jute_framing};
  proxy::door& wire_ = proxy_.open(server_.address());
  checker::recorder book_;
  nothing_protected numbers_;
};

// A claim whose outcome is unknown finds a node with its own id that belongs to another session: so
// it looks when a client has begun a new session while the ensemble has not yet removed what the
// old one left. Such a node is about to vanish, and lets nobody in.
TEST_P(zookeeper_mutants, M6_a_node_of_another_session_is_not_taken_for_ones_own) {
  const client one = connect(wire_.port());
  const client other = connect(server_.port());
  mutex first{one, "name"};
  mutex second{other, "name"};
  first.acquire().release();  // its parents are there

  std::mutex guard;
  std::string stem;
  wire_.add({.matches =
                 [&](const proxy::sighting& seen) {
                   if (seen.words.empty() || seen.words[0] != "create2") return false;
                   const std::lock_guard locked{guard};
                   stem = seen.words.at(1);
                   return true;
                 },
             .what = proxy::fate::reset()});
  // News come late: what happens to the node is not heard.
  wire_.add({.going = proxy::way::to_client,
             .matches = proxy::is_push(),
             .times = proxy::rule::always,
             .what = proxy::fate::drop()});
  wire_.refuse_new(true);
  auto acquired =
      std::async(std::launch::async, [&] { return conformance::acquire(person(1), first, 20s); });
  const auto seen_stem = [&] {
    const std::lock_guard locked{guard};
    return stem;
  };
  ASSERT_TRUE(servers::eventually([&] { return !seen_stem().empty(); }));
  servers::zookeeper_talk old_session{server_.address()};
  old_session.create(seen_stem(), {}, servers::zookeeper_talk::kind::ephemeral_sequential);
  wire_.refuse_new(false);

  const bool mutated = GetParam() != seam::mutant::none;
  EXPECT_EQ(acquired.wait_for(3s) == std::future_status::ready, mutated);
  old_session.close();  // the ghost vanishes
  std::unique_ptr<witnessed> in_first = acquired.get();
  ASSERT_TRUE(in_first);
  if (!mutated) in_first->release();
  const auto in_second = conformance::acquire(person(2), second, 5s);
  ASSERT_TRUE(in_second);
  const auto verdict = checker::check(book_.events(), {.calm_bound = 5s});
  EXPECT_EQ(verdict.kept(), !mutated) << verdict.to_string();
  EXPECT_EQ(verdict.to_string().find("I1 exclusion") != std::string::npos, mutated)
      << verdict.to_string();
}

INSTANTIATE_TEST_SUITE_P(zookeeper, zookeeper_mutants,
                         testing::Values(seam::mutant::none, seam::mutant::any_node_of_ours),
                         [](const auto& which) {
                           return which.param == seam::mutant::none ? "healthy" : "M6";
                         });

}  // namespace
}  // namespace crosslock::faults
