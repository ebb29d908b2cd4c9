// A redis-server of a case's own, and a door of the fault proxy between it and every process.
#include "conformance/fixtures/redis_testbed.hpp"
#include "faults/old_files.hpp"
#include "faults/suites.hpp"

#include <utility>

namespace crosslock::faults {
namespace {

using checker::fault;
using conformance::redis_testbed;

class redis_stage : public stage_in<redis_testbed> {
 public:
  explicit redis_stage(servers::redis_options how) : stage_in{"?timeout=", std::move(how)} {}

  const faults::bounds& bounds() const override {
    static const faults::bounds promised{.after_lease = after_lease,
                                         .after_death = lease + after_lease,
                                         .after_line_death = lease + after_lease,
                                         .frozen_head = 1s + after_lease,
                                         .frozen_line = 2s + after_lease,
                                         .settled = lease / 2,
                                         .moments = {0ms, 150ms, 300ms}};
    return promised;
  }

  void lose_next_answer(observer::verb to) override { testbed().lose_next_answer(to); }
  std::vector<harm> removals() override {
    return {{.name = "deleted",
             .begin =
                 [this](real_actor&) {
                   EXPECT_EQ(say({"DEL", "name"}), "1");
                 },
             .noticed = noticed,
             .next_in = look_cap}};
  }
  int remove_places() override {
    int gone = 0;
    // All side keys of the line, whatever they are called.
    for (const auto& each : server().say({"KEYS", "crosslock:{*"}).items) {
      if (each.text.find(":fence:") != std::string::npos) continue;
      if (say({"DEL", each.text}) == "1") ++gone;
    }
    return gone;
  }
  std::vector<harm> wipes() override {
    const auto replace = [this](real_actor&) {
      note(fault::server_down);
      server().start_empty();
      note(fault::server_up);
    };
    return {{.name = "flushed",
             .begin = [this](real_actor&) { EXPECT_EQ(say({"FLUSHALL"}), "OK"); },
             .noticed = noticed,
             .next_in = look_cap},
            {.name = "replaced by an empty one",
             .begin = replace,
             .noticed = lease,  // at the next renewal that could be made
             .next_in = look_cap}};
  }
  std::vector<harm> news_harms() override {
    const auto limit = [this](const char* words) {
      say({"CONFIG", "SET", "client-output-buffer-limit", words});
    };
    return {{.name = "dropped",
             .begin = [this](real_actor&) { testbed().drop_wake_ups(true); },
             .end = [this](real_actor&) { testbed().drop_wake_ups(false); },
             .next_in = look_cap},
            {.name = "subscriptions killed",
             .begin =
                 [this](real_actor&) {
                   say({"CLIENT", "KILL", "TYPE", "pubsub"});
                 },
             .next_in = look_cap},
            // Whoever is pushed to is thrown out.
            {.name = "no buffer",
             .begin = [limit](real_actor&) { limit("pubsub 1 1 1"); },
             .end = [limit](real_actor&) { limit("pubsub 33554432 8388608 60"); },
             .next_in = look_cap},
            {.name = "denied",
             .begin =
                 [this](real_actor&) {
                   say({"ACL", "SETUSER", "default", "resetchannels"});
                 },
             .end =
                 [this](real_actor&) {
                   say({"ACL", "SETUSER", "default", "allchannels"});
                 },
             .next_in = look_cap}};
  }

  proxy::door& wire(std::int32_t number) override { return testbed().wire(number); }
  faults::protocol protocol() override {
    const auto any = conformance::is_verb();
    return {.any = any,
            .is = [](observer::verb what) { return conformance::is_verb(what); },
            .cycle = {{.name = "ask", .matches = any, .skip = 0},
                      {.name = "renew", .matches = any, .skip = 1},
                      {.name = "release", .matches = any, .skip = 2}},
            .requests_in_cycle = 3,
            .cycle_work = 490ms,  // one renewal, due at 333 ms; the next would be at 667
            .timeout = 300ms,
            .next_in = 5s,
            .late_gone = lease / 2,
            .cut_answer = 2,
            .cut_request = 40};
  }
  /// The connection for commands, and that for news, in turn.
  void reset_connections(const real_actor& whose, std::size_t nth) override {
    const bool news = nth % 2 == 1;
    wire(whose.number()).reset([news](const proxy::connection_seen& each) {
      return each.subscription == news;
    });
  }

  void kill_server() override { server().kill(); }
  void start_server() override { server().start(); }
  void stop_server() override { server().stop(); }
  void go_on_server() override { server().go_on(); }
  std::vector<harm> outages() override {
    return outages_of(server(), [this] { return all_wires(); });
  }
  strike_plan strikes() override {
    return {.cycles = 200, .rounds = 8, .at_least = 8, .progress = 0};
  }
  void strike(int round) override {
    server().kill();
    sleep_for_real(round * 10ms);
    server().start();
  }

  void remember() override {
    old_.emplace(server().data(), std::vector<std::string>{"appendonlydir", "dump.rdb"},
                 server().folder() / "old-data");
  }
  void roll_back() override {
    server().kill();
    old_->bring_back();
    server().start();
  }
  bool clients_outlive_rollback() override { return true; }

  crowd_plan crowd() override {
    // Or thousands would ask in every second, and be late all the same.
    return {.waiters = 8192, .with_lease = 10 * long_lease, .look_every = 10s};
  }
  void expect_refusal(const client& viewer, mutex& lock) override {
    // One ask in sixteen looks at the length of the line.
    EXPECT_TRUE(eventually(
        [&] { return code_of([&] { (void)lock.try_acquire_for(20ms); }) == errc::queue_full; }));
    EXPECT_LT(viewer.look("name").line.size(), crowd().waiters + 256);
  }
  std::uint64_t effort() override { return testbed().requests(); }
  std::uint64_t effort_for(std::size_t waiters, duration time) override {
    // Places are refreshed besides, now and again.
    const auto refreshes = static_cast<std::uint64_t>(time / 10s) + 1;
    return (3 + refreshes) * waiters - 1;
  }
  void expect_little_is_stored() override {
    EXPECT_EQ(say({"DBSIZE"}), "50001");  // fences, and the index of their names
    for (const std::string name : {"0", "777", "49999"}) {
      const auto keys = server().say({"KEYS", "crosslock:{*:fence:name/" + name}).items;
      ASSERT_EQ(keys.size(), 1U);
      const std::int64_t rest = std::stoll(say({"TTL", keys[0].text}));
      EXPECT_GT(rest, 86'000);
      EXPECT_LE(rest, 86'400);
    }
    EXPECT_LT(server().info("memory", "used_memory"), 64 << 20);
  }

  void leave_no_room() override {
    say({"PING"});
    const std::int64_t now_in = server().info("clients", "connected_clients");
    say({"CONFIG", "SET", "maxclients", std::to_string(now_in)});
  }
  void make_room() override { say({"CONFIG", "SET", "maxclients", "10000"}); }
  bool tells_no_room(const error& why) override {
    return why.which() == errc::unreachable &&
           std::string{why.what()}.find("max number of clients") != std::string::npos;
  }

 protected:
  servers::redis_server& server() { return testbed().server(); }
  std::string say(const std::vector<std::string>& words) { return server().say(words).text; }

 private:
  static constexpr duration after_lease = 500ms + stall;
  static constexpr duration noticed = lease / 3 + stall;  // at the next renewal

  std::optional<old_files> old_;
};

/// With a user who has a password, and may lose it.
class redis_stage_with_password final : public redis_stage {
 public:
  redis_stage_with_password() : redis_stage{with_password()} {
    server().authenticate_with({"AUTH", "the-admin"});
  }

  std::string url_with(const std::string& password) override {
    return "redis://anne:" + password + "@127.0.0.1:" + std::to_string(wire(0).port());
  }
  std::vector<deprivation> deprivations(const std::string& password) override {
    const auto give = [this, password] {
      say({"ACL", "SETUSER", "anne", "reset", "on", ">" + password, "~*", "&*", "+@all"});
    };
    // Redis asks for a password only at the beginning of a connection.
    const auto hang_up = [this] { say({"CLIENT", "KILL", "USER", "anne"}); };
    const auto switch_off = [this, hang_up] {
      say({"ACL", "SETUSER", "anne", "off"});
      hang_up();
    };
    const auto change = [this, hang_up] {
      say({"ACL", "SETUSER", "anne", "resetpass", ">another-one"});
      hang_up();
    };
    const auto take_rights = [this] { say({"ACL", "SETUSER", "anne", "-@all"}); };
    give();
    return {{"switched off", switch_off, give},
            {"another password", change, give},
            {"no rights", take_rights, give}};
  }
  bool tells_no_rights(errc code) override {
    return code == errc::denied || code == errc::unreachable;
  }

 private:
  static servers::redis_options with_password() {
    auto how = redis_testbed::durable();
    how.settings.emplace_back("requirepass", "the-admin");
    return how;
  }
};

const bool redis_stages_added =
    offer_stage({.engine = "redis",
                 .variant = "one_server",
                 .can = {ability::everyday, ability::network, ability::server, ability::outages,
                         ability::strikes, ability::rollback, ability::room},
                 .make = [] { return std::make_unique<redis_stage>(redis_testbed::durable()); }}) &&
    // Where every request would wait for the disk thousands would take minutes.
    offer_stage(
        {.engine = "redis",
         .variant = "in_memory",
         .can = {ability::crowds},
         .make = [] { return std::make_unique<redis_stage>(redis_testbed::forgetful()); }}) &&
    offer_stage(
        {.engine = "redis", .variant = "with_password", .can = {ability::rights}, .make = [] {
           return std::make_unique<redis_stage_with_password>();
         }});

PLAY_FAULTS_ON(redis);

}  // namespace
}  // namespace crosslock::faults
