// Which stages there are, and the suites that are played on each stage with the ability they need.
//
//   const bool added = offer_stage({.engine = "redis", .variant = "one_server",
//                                   .can = {ability::everyday}, .make = [] { ... }});
//   PLAY_FAULTS_ON(redis);
//
// at the end of stages/redis.cpp gives `redis/process_faults.F1_a_holder_.../one_server` and so on;
// there is no instance, and no skipped one, for what an engine cannot do.
#pragma once

#include "faults/fault_case.hpp"
#include "faults/stage.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace crosslock::faults {

struct offered_stage {
  std::string engine;   ///< as the registry calls it
  std::string variant;  ///< tells the stages of one engine apart
  std::set<ability> can;
  std::function<std::unique_ptr<stage>()> make;
};

/// How GoogleTest shows the parameter of a case.
inline void PrintTo(const offered_stage* which, std::ostream* out) {
  *out << which->engine << ' ' << which->variant;
}

/// Called by each file in stages/ before main.
bool offer_stage(offered_stage stage);
const std::vector<offered_stage>& offered_stages();
std::vector<const offered_stage*> stages_of(std::string_view engine, ability with);

/// A case on a stage; afterwards nothing may be left there.
class staged_case : public fault_case {
 protected:
  virtual const offered_stage& chosen() const = 0;
  void SetUp() override { stage_ = chosen().make(); }
  void TearDown() override;

  faults::stage& stage() { return *stage_; }
  const faults::bounds& bounds() { return stage_->bounds(); }
  proxy::door& wire(const real_actor& of) { return stage_->wire(of.number()); }
  proxy::door& own_wire() { return stage_->wire(0); }

  conformance::surroundings here() override;
  /// With a lasting lease.
  client connect(options how = {});
  client connect(duration with_lease, options how);
  std::unique_ptr<real_actor> start(const std::string& name, duration with_lease,
                                    duration timeout = {}) {
    return stage_->start(name, with_lease, timeout);
  }
  /// The holder may end, the next may not.
  pair holder_and_waiter(const client& viewer) {
    return fault_case::holder_and_waiter(viewer, bounds().brief, bounds().lasting);
  }
  using fault_case::holder_and_waiter;
  fence take_and_release(const std::string& name) {
    return fault_case::take_and_release(name, bounds().lasting);
  }
  /// Goes on working with a hold that is old enough for the stage's promises.
  void settle(real_actor& holder);
  /// Three of them, say, that wait and are served in any order; each is in and out again.
  static void serve_in_any_order(std::vector<std::unique_ptr<real_actor>>& waiters);
  /// The head of the line `falls_out` as its turn comes, and `comes_back` when the next is in.
  void play_head_waiter(void (*falls_out)(real_actor&), void (*comes_back)(real_actor&),
                        duration calm);

  void note(checker::fault what, const std::string& lock = {}) {
    stage_->book().nemesis(now(), what, checker::event::nobody, lock);
  }
  checker::check_options strictness(duration calm = look_cap) {
    return {.calm_bound = calm, .after_fault_bound = bounds().after_fault, .loss_slack = stall};
  }
  checker::verdict judge(duration calm = look_cap) { return fault_case::judge(strictness(calm)); }
  /// A write with an old fence must have been tried, or the fault has not bitten.
  checker::verdict judge_with_stale_write(duration calm = look_cap);

  client reach(options how) override { return stage_->connect(std::move(how)); }
  std::unique_ptr<real_actor> begin(const std::string& name, duration with_lease) override {
    return start(name, with_lease);
  }
  checker::history history() override { return stage_->history(); }
  std::vector<std::string> leftovers() override { return stage_->leftovers(); }

 private:
  std::unique_ptr<faults::stage> stage_;
};

class ordinary_case : public staged_case, public testing::WithParamInterface<const offered_stage*> {
 protected:
  const offered_stage& chosen() const override { return *GetParam(); }
};

/// What happens to one request, or to its answer, of an acquire-renew-release cycle.
struct mishap {
  std::string name;
  proxy::way going;
  proxy::fate what;  ///< after how many bytes a message is cut says the protocol
  /// Nobody tells the client: it must notice by itself.
  bool silent = false;
};
std::vector<mishap> mishaps();

class wire_cycle : public staged_case,
                   public testing::WithParamInterface<std::tuple<const offered_stage*, mishap>> {
 public:
  static constexpr ability needs = ability::network;

 protected:
  const offered_stage& chosen() const override { return *std::get<0>(GetParam()); }
  const mishap& accident() const { return std::get<1>(GetParam()); }
};

#define CROSSLOCK_FAULT_SUITE(suite, need) \
  class suite : public ordinary_case {     \
   public:                                 \
    static constexpr ability needs = need; \
  }

CROSSLOCK_FAULT_SUITE(process_faults, ability::everyday);
CROSSLOCK_FAULT_SUITE(data_faults, ability::everyday);
CROSSLOCK_FAULT_SUITE(wire_faults, ability::network);
CROSSLOCK_FAULT_SUITE(server_faults, ability::server);
CROSSLOCK_FAULT_SUITE(outage_faults, ability::outages);
CROSSLOCK_FAULT_SUITE(strike_faults, ability::strikes);
CROSSLOCK_FAULT_SUITE(rollback_faults, ability::rollback);
CROSSLOCK_FAULT_SUITE(crowd_faults, ability::crowds);
CROSSLOCK_FAULT_SUITE(room_faults, ability::room);
CROSSLOCK_FAULT_SUITE(rights_faults, ability::rights);

inline std::string name_of(const testing::TestParamInfo<const offered_stage*>& info) {
  return info.param->variant;
}
inline std::string name_of_accident(const testing::TestParamInfo<wire_cycle::ParamType>& info) {
  return std::get<0>(info.param)->variant + '_' + std::get<1>(info.param).name;
}

#define PLAY_FAULT_SUITE_ON(engine, suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(engine, suite, testing::ValuesIn(stages_of(#engine, suite::needs)), \
                           name_of)

/// Every suite, on the stages of that engine.
#define PLAY_FAULTS_ON(engine)                                                   \
  PLAY_FAULT_SUITE_ON(engine, process_faults);                                   \
  PLAY_FAULT_SUITE_ON(engine, data_faults);                                      \
  PLAY_FAULT_SUITE_ON(engine, wire_faults);                                      \
  PLAY_FAULT_SUITE_ON(engine, server_faults);                                    \
  PLAY_FAULT_SUITE_ON(engine, outage_faults);                                    \
  PLAY_FAULT_SUITE_ON(engine, strike_faults);                                    \
  PLAY_FAULT_SUITE_ON(engine, rollback_faults);                                  \
  PLAY_FAULT_SUITE_ON(engine, crowd_faults);                                     \
  PLAY_FAULT_SUITE_ON(engine, room_faults);                                      \
  PLAY_FAULT_SUITE_ON(engine, rights_faults);                                    \
  INSTANTIATE_TEST_SUITE_P(                                                      \
      engine, wire_cycle,                                                        \
      testing::Combine(testing::ValuesIn(stages_of(#engine, wire_cycle::needs)), \
                       testing::ValuesIn(mishaps())),                            \
      name_of_accident)

}  // namespace crosslock::faults
