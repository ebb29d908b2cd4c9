// Cases of the zookeeper engine, with one server or with three.
#pragma once

#include "conformance/fixtures/zookeeper_testbed.hpp"
#include "faults/fault_case.hpp"

#include <functional>

namespace crosslock::faults {

class zookeeper_case : public fault_case_in<conformance::zookeeper_testbed> {
 protected:
  using fate = proxy::fate;
  using way = proxy::way;
  using fault = checker::fault;
  using verb = observer::verb;
  using sighting_test = conformance::on_zookeeper::sighting_test;

  static constexpr duration tick = 200ms;
  /// A session that shall end, and one that shall not.
  static constexpr duration session = 1500ms;
  static constexpr duration steady = 8s;
  /// One that also outlasts an election, and the heartbeats that must be proven after it; silence
  /// is suffered for a third of it.
  static constexpr duration patient = 12s;
  /// From the end of a session's time until the next is in: the row L of the matrix.
  static constexpr duration after_session = 2 * tick + stall;
  /// How long three servers may be without a leader: two seconds until a silent one counts as gone,
  /// then the election.
  static constexpr duration election = 6s;

  using fault_case_in::fault_case_in;

  servers::zookeeper_server& server() { return testbed().server(); }
  proxy::door& wire(const real_actor& of, std::size_t to = 0) { return testbed().wire(of, to); }
  proxy::door& own_wire() { return testbed().wire(0); }
  static sighting_test is_verb(verb what) { return conformance::on_zookeeper::is_verb(what); }

  pair holder_and_waiter(const client& viewer, duration of_holder = session,
                         duration of_next = steady) {
    return fault_case::holder_and_waiter(viewer, of_holder, of_next);
  }
  std::unique_ptr<real_actor> start(const std::string& name, duration with_session = session,
                                    const how_to_start& how = {}) {
    return fault_case_in::start(name, with_session, how);
  }
  client connect(duration with_session = steady, options how = {}) {
    return fault_case_in::connect(with_session, std::move(how));
  }

  fence take_and_release(const std::string& name) {
    return fault_case::take_and_release(name, steady);
  }
  /// As an administrator could, with the number and password that every handle has.
  void end_session_of(const real_actor& whom);
  /// The nodes in the line of a name, first come first.
  std::vector<std::string> line_of(const std::string& name);

  static checker::check_options strictness() {
    return {.calm_bound = look_cap, .after_fault_bound = steady + 5s, .loss_slack = stall};
  }
  checker::verdict judge(checker::check_options how = strictness()) {
    return fault_case_in::judge(how);
  }
  checker::verdict judge_with_stale_write() {
    auto how = strictness();
    how.need_stale_write = true;
    return judge(how);
  }
};

/// The rows of the matrix on one server, which all cases of a process share.
class zookeeper_faults : public zookeeper_case {};

/// There before the testbed that uses it, and longer.
struct own_zookeeper {
  servers::zookeeper_server own_server;
};

/// With a server of its own, for cases that need another kind or leave it in ruins.
class zookeeper_alone : private own_zookeeper, public zookeeper_case {
 protected:
  explicit zookeeper_alone(servers::zookeeper_options how)
      : own_zookeeper{servers::zookeeper_server{std::move(how)}},
        zookeeper_case{std::vector<servers::zookeeper_server*>{&own_server}} {}
};

/// The same with three.
class zookeeper_three : public zookeeper_case {
 protected:
  zookeeper_three();
  /// A case that has failed shows what the servers say of their elections.
  void TearDown() override;

  servers::zookeeper_ensemble& three() { return three_; }
  /// Of a process that knows this server only.
  static how_to_start only(std::size_t which) {
    how_to_start how;
    how.servers = {which};
    return how;
  }

 private:
  explicit zookeeper_three(servers::zookeeper_ensemble& three);
  servers::zookeeper_ensemble& three_;
};

}  // namespace crosslock::faults
