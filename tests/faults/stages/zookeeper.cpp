// A ZooKeeper server, or three, for all cases of a process; each case has a chroot of its own.
// Between every process and every server stands a door of the fault proxy.
#include "conformance/fixtures/zookeeper_testbed.hpp"
#include "faults/suites.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::faults {
namespace {

using conformance::zookeeper_testbed;
namespace on_zookeeper = conformance::on_zookeeper;

class zookeeper_stage : public stage_in<zookeeper_testbed> {
 public:
  zookeeper_stage() : zookeeper_stage{{&conformance::shared_zookeeper()}} {}
  explicit zookeeper_stage(std::vector<servers::zookeeper_server*> servers)
      : stage_in{"&timeout=", std::move(servers)} {}

  const faults::bounds& bounds() const override {
    static const faults::bounds promised{
        .brief = session,
        .renewed = steady,
        .lasting = steady,
        .patient = patient,
        .mortal = session,
        .after_lease = after_session,
        .after_death = session + after_session,
        .after_line_death = session + after_session,
        .frozen_head = session + after_session,
        .frozen_line = session + after_session,
        .settled = 3s,  // the watch on its own node is set by the heartbeat after the grant
        .after_stop = session + after_session,
        .looks_after_restart = 20s,
        .moments = {0ms, tick / 3, 2 * tick / 3},
        .between_resets = 100ms,
        .after_fault = steady + 5s,
        .calm = {.frozen_line = 3s,  // whoever wakes up finds its session gone first
                 .late_release = session + look_cap,
                 .cycle = session + look_cap,
                 .reset = 3s,
                 .late_answer = 2 * session + look_cap,
                 .news = steady / 2 + look_cap,
                 .stop = session + look_cap,
                 .outage = election + steady,
                 .strikes = election + look_cap}};
    return promised;
  }

  void lose_next_answer(observer::verb to) override { testbed().lose_next_answer(to); }
  std::vector<harm> removals() override {
    return {{.name = "node deleted",
             .begin = [this](real_actor&) { remove_node(0); },
             .noticed = stall,  // by an event, long before the session could end
             .next_in = look_cap}};
  }
  int remove_places() override {
    remove_node(1);
    return 1;
  }
  std::vector<harm> wipes() override {
    const auto remove = [this](const std::string& what) {
      return [this, what](real_actor&) { testbed().talk().remove_tree(testbed().root() + what); };
    };
    // With the parent of a line the count of sequences begins anew. Together with everything go the
    // nodes by which sessions are proven, so that whoever is let in at once loses it again.
    return {{.name = "the lock", .begin = remove("/name"), .noticed = stall, .next_in = look_cap},
            {.name = "everything", .begin = remove(""), .amid_holds = false}};
  }
  std::vector<harm> news_harms() override {
    const auto wait_and_heal = [](real_actor& waiter) {
      sleep_for_real(steady / 2);
      waiter.heal();
    };
    // A quarter of the session is how long a watch is trusted.
    return {{.name = "dropped",
             .begin = [this](real_actor&) { testbed().drop_wake_ups(true); },
             .end = [this](real_actor&) { testbed().drop_wake_ups(false); },
             .next_in = steady / 4 + look_cap},
            {.name = "connection reset",
             .begin = [this](real_actor& waiter) { wire(waiter.number()).reset(); },
             .next_in = steady / 2 + look_cap},
            {.name = "cut off for a while",
             .begin = [](real_actor& waiter) { waiter.cut_off(); },
             .meanwhile = wait_and_heal,
             .next_in = steady / 2 + look_cap}};
  }

  proxy::door& wire(std::int32_t number) override { return testbed().wire(number); }
  faults::protocol protocol() override {
    const auto lists = [](const proxy::sighting& seen) {
      return !seen.words.empty() && seen.words[0] == "getChildren";
    };
    const auto is = [](observer::verb what) { return on_zookeeper::is_verb(what); };
    // TCP delivers nothing twice: what a second node of the same claim would do is no question.
    return {.any = on_zookeeper::is_verb(),
            .is = is,
            .cycle = {{.name = "create", .matches = is(observer::verb::ask), .repeatable = false},
                      {.name = "list", .matches = lists},
                      {.name = "heartbeat", .matches = is(observer::verb::renew)},
                      {.name = "release", .matches = is(observer::verb::release)}},
            .requests_in_cycle = std::nullopt,  // heartbeats come when they come
            .cycle_work = 700ms,
            .timeout = 500ms,
            .next_in = 10s,
            .silence_may_cost_the_hold = true,
            .repeated_releases = 1,
            .answers_late_requests = false,
            .late_grant_may_be_lost = true,
            .late_gone = session + after_session,
            .cut_answer = 6,
            .cut_request = 20,
            .unanswered = proxy::fate::reset(),
            .trickled = 6,
            .trickle_pause = 200us};
  }
  std::int64_t session_of(const real_actor& whom) override {
    return testbed().session_of(whom.number()).id;
  }

  void kill_server() override { server().kill(); }
  void start_server() override { server().start(); }
  void stop_server() override { server().stop(); }
  void go_on_server() override { server().go_on(); }
  std::vector<harm> outages() override {
    return outages_of(server(), [this] { return all_wires(); });
  }
  strike_plan strikes() override {
    return {.cycles = 1000, .rounds = 6, .at_least = 6, .progress = 20};
  }
  void strike(int round) override {
    server().kill();
    sleep_for_real(round * 10ms);
    server().start();
  }

 protected:
  static constexpr duration tick = 200ms;
  /// A session that shall end, and one that shall not.
  static constexpr duration session = 1500ms;
  static constexpr duration steady = 8s;
  /// One that also outlasts an election, and the heartbeats that must be proven after it; silence
  /// is suffered for a third of it.
  static constexpr duration patient = 12s;
  static constexpr duration after_session = 2 * tick + stall;
  /// How long three servers may be without a leader: two seconds until a silent one counts as gone,
  /// then the election.
  static constexpr duration election = 6s;

  servers::zookeeper_server& server() { return testbed().server(); }

 private:
  /// The nth in the line of `name`, first come first; 0 holds it.
  void remove_node(std::size_t nth) {
    auto nodes = testbed().talk().children(testbed().root() + "/name");
    const auto sequence = [](const std::string& node) { return node.substr(node.size() - 10); };
    std::sort(nodes.begin(), nodes.end(),
              [&](const auto& a, const auto& b) { return sequence(a) < sequence(b); });
    testbed().talk().remove(testbed().root() + "/name/" + nodes.at(nth));
  }
};

/// Two of them away are all of them away.
class zookeeper_stage_of_three final : public zookeeper_stage {
 public:
  zookeeper_stage_of_three() : zookeeper_stage_of_three{conformance::shared_zookeeper_ensemble()} {}

  std::vector<harm> outages() override {
    const auto both = [](std::function<void(std::size_t)> what) {
      return [what = std::move(what)](real_actor&) {
        for (const std::size_t each : {std::size_t{0}, std::size_t{1}}) what(each);
      };
    };
    const auto mend = [this](real_actor&) { three_.mend(); };
    return {
        {.name = "killed", .begin = both([this](auto each) { three_[each].kill(); }), .end = mend},
        {.name = "stopped", .begin = both([this](auto each) { three_[each].stop(); }), .end = mend},
        {.name = "cut off",
         .begin = both([this](auto each) { three_.cut_off(each); }),
         .end = mend}};
  }
  strike_plan strikes() override {
    return {.cycles = 1000, .rounds = 6, .at_least = 3, .progress = 20};  // each of them once
  }
  void strike(int round) override {
    three_[static_cast<std::size_t>(round) % 3].kill();
    sleep_for_real(100ms);
    three_.mend();
  }

 private:
  explicit zookeeper_stage_of_three(servers::zookeeper_ensemble& three)
      : zookeeper_stage{{&three[0], &three[1], &three[2]}}, three_{three} {}

  servers::zookeeper_ensemble& three_;
};

/// There before the testbed that uses it, and longer.
struct zookeeper_of_its_own {
  servers::zookeeper_server own_server;
};

class zookeeper_stage_with_room final : private zookeeper_of_its_own, public zookeeper_stage {
 public:
  zookeeper_stage_with_room()
      : zookeeper_of_its_own{servers::zookeeper_server{
            {.machine = {"-Xmx1g", "-Dznode.container.checkIntervalMs=1000",
                         "-Dznode.container.maxPerMinute=1000000"}}}},
        zookeeper_stage{{&own_server}} {}

  crowd_plan crowd() override {
    // Or thousands would ask in every second, and be late all the same.
    return {.waiters = 5120, .with_lease = 60s, .look_every = 10s};
  }
  std::size_t line_length(const client&, const std::string& name) override {
    return testbed().talk().children(testbed().root() + "/" + name).size() - 1;
  }
  std::uint64_t effort() override { return testbed().pushes(); }
  std::uint64_t effort_for(std::size_t waiters, duration) override {
    return waiters + waiters / 10;
  }
  void expect_little_is_stored() override {
    // Containers without children are the server's to remove.
    EXPECT_TRUE(eventually(
        [&] {
          sleep_for_real(100ms);
          return testbed().talk().children(testbed().root() + "/name").empty();
        },
        60s));
    EXPECT_EQ(server().number("zk_watch_count"), 0);
  }
};

class zookeeper_stage_for_few final : private zookeeper_of_its_own, public zookeeper_stage {
 public:
  zookeeper_stage_for_few()
      : zookeeper_of_its_own{servers::zookeeper_server{{.settings = {{"maxClientCnxns", "3"}}}}},
        zookeeper_stage{{&own_server}} {}

  void leave_no_room() override {
    for (int i = 0; i < 2; ++i) crowd_.emplace_back(server().address());
  }
  void make_room() override { crowd_.clear(); }
  bool tells_no_room(const error& why) override {
    return why.which() == errc::unreachable || why.which() == errc::timed_out;
  }

 private:
  std::vector<servers::zookeeper_talk> crowd_;
};

class zookeeper_stage_with_rights final : private zookeeper_of_its_own, public zookeeper_stage {
 public:
  zookeeper_stage_with_rights()
      : zookeeper_of_its_own{servers::zookeeper_server{{.machine = {servers::with_super_user()}}}},
        zookeeper_stage{{&own_server}} {}

  std::string url_with(const std::string& password) override {
    std::string url = testbed().url(0);
    return url.insert(url.find("127"), "anne:" + password + "@");
  }
  /// Nobody else may look at what its user has made.
  std::vector<std::string> leftovers() override {
    std::vector<std::string> found;
    servers::zookeeper_talk admin = administrator();
    for (const std::string& each : admin.below(testbed().root())) {
      const auto node = admin.find(each);
      if (node && node->stat.owner != 0) found.push_back(each);
    }
    return found;
  }
  std::vector<deprivation> deprivations(const std::string&) override {
    return {{"no rights", [this] { set_rights(0); }, [this] { set_rights(31); }}};
  }

 private:
  servers::zookeeper_talk administrator() {
    servers::zookeeper_talk talk{server().address()};
    talk.authenticate("super", servers::super_password);
    return talk;
  }
  /// On every node that there was when they were taken.
  void set_rights(std::int32_t which) {
    servers::zookeeper_talk admin = administrator();
    if (which == 0) nodes_ = admin.below(testbed().root());
    for (const std::string& each : nodes_) {
      if (admin.exists(each)) admin.set_rights(each, which, {{"world", "anyone"}});
    }
  }

  std::vector<std::string> nodes_;
};

template <class Stage>
bool offer_zookeeper(std::string variant, std::set<ability> can) {
  return offer_stage(
      {.engine = "zookeeper", .variant = std::move(variant), .can = std::move(can), .make = [] {
         return std::make_unique<Stage>();
       }});
}

const bool zookeeper_stages_added =
    offer_zookeeper<zookeeper_stage>(
        "one_server", {ability::everyday, ability::network, ability::server, ability::outages,
                       ability::strikes}) &&
    offer_zookeeper<zookeeper_stage_of_three>("three_servers",
                                              {ability::outages, ability::strikes}) &&
    offer_zookeeper<zookeeper_stage_with_room>("with_room", {ability::crowds}) &&
    offer_zookeeper<zookeeper_stage_for_few>("for_few", {ability::room}) &&
    offer_zookeeper<zookeeper_stage_with_rights>("with_rights", {ability::rights});

PLAY_FAULTS_ON(zookeeper);

}  // namespace
}  // namespace crosslock::faults
