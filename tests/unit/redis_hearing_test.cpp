// Clients of one process that speak to one server hear through one connection and one thread, and
// nobody notices but the server.
#include "redis_engine_rig.hpp"

#include "engines/redis/engine.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/subscription.hpp"
#include "proxy/fault_proxy.hpp"
#include "servers/redis_server.hpp"
#include "stopped_time.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;
using servers::redis_server;

/// Threads of this process by that name.
std::size_t threads_called(const std::string& name) {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream file{task.path() / "comm"};
    std::string comm;
    if (std::getline(file, comm) && comm == name) ++count;
  }
  return count;
}

std::size_t subscribers(redis_server& server) {
  const std::string list = server.say({"CLIENT", "LIST", "TYPE", "pubsub"}).text;
  return static_cast<std::size_t>(std::ranges::count(list, '\n'));
}

std::size_t channels(redis_server& server) {
  return server.say({"PUBSUB", "CHANNELS", "crosslock:to:*"}).items.size();
}

bool eventually(const std::function<bool()>& what, duration within = 5s) {
  const time_point until = seam::real_clock().now() + within;
  while (!what()) {
    if (seam::real_clock().now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

using rigs = std::vector<std::unique_ptr<engine_rig>>;

rigs many(const std::string& url, int count) {
  rigs made;
  for (int i = 0; i < count; ++i) made.push_back(std::make_unique<engine_rig>(url));
  return made;
}

/// A grant that goes from one to the other by a push.
void expect_pushed(engine_rig& from, engine_rig& to, const std::string& name) {
  const seam::grant held = from.take(name);
  const seam::claim waits = engine_rig::claim(name, true);
  ASSERT_EQ(to.ask(waits).result, ask_result::in_line);
  EXPECT_TRUE(from.give_back(held));
  const auto got = to.events.await_grant(waits.owner, 2s);
  ASSERT_TRUE(got);
  EXPECT_TRUE(to.give_back(*got));
}

TEST(redis_hearing, clients_of_one_process_share_one_subscription_and_one_thread) {
  redis_server server;
  const std::size_t before = threads_called("crosslock-hear");
  {
    const rigs all = many(socket_url(server), 20);
    EXPECT_EQ(subscribers(server), 1U);
    EXPECT_EQ(channels(server), 20U);  // each is told for itself, and missed for itself
    EXPECT_EQ(threads_called("crosslock-hear"), before + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_pushed(*all[i], *all[(i + 7) % all.size()], "n" + std::to_string(i));
    }
    EXPECT_EQ(subscribers(server), 1U);
  }
  EXPECT_EQ(threads_called("crosslock-hear"), before);
  EXPECT_TRUE(eventually([&] { return subscribers(server) == 0 && channels(server) == 0; }));
}

TEST(redis_hearing, a_database_of_its_own_needs_no_subscription_of_its_own) {
  redis_server server;
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server, "?db=3")};
  engine_rig third{socket_url(server, "?db=3")};
  EXPECT_EQ(subscribers(server), 1U);
  expect_pushed(third, other, "a");
}

TEST(redis_hearing, another_user_and_another_server_are_heard_apart) {
  redis_server server;
  redis_server elsewhere;
  (void)server.say({"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~*", "&*", "+@all"});
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server, "?user=ann&password=secret")};
  engine_rig third{socket_url(elsewhere)};
  EXPECT_EQ(subscribers(server), 2U);
  EXPECT_EQ(subscribers(elsewhere), 1U);
  expect_pushed(one, other, "a");
  expect_pushed(other, one, "a");
}

TEST(redis_hearing, one_that_closes_takes_its_own_channel_and_nobody_elses) {
  redis_server server;
  rigs all = many(socket_url(server), 3);
  ASSERT_EQ(subscribers(server), 1U);
  const seam::grant held = all[0]->take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  ASSERT_EQ(all[1]->ask(waits).result, ask_result::in_line);
  all.pop_back();
  EXPECT_TRUE(eventually([&] { return channels(server) == 2; }));
  EXPECT_EQ(subscribers(server), 1U);
  EXPECT_TRUE(all[0]->give_back(held));
  EXPECT_TRUE(all[1]->events.await_grant(waits.owner, 2s));
  // The one that made the subscription goes: it stays for the other.
  all.erase(all.begin());
  EXPECT_TRUE(eventually([&] { return channels(server) == 1; }));
  engine_rig fresh{socket_url(server)};
  EXPECT_EQ(subscribers(server), 1U);
  expect_pushed(fresh, *all[0], "b");
}

TEST(redis_hearing, without_the_right_to_unsubscribe_the_others_subscribe_anew) {
  redis_server server;
  (void)server.say(
      {"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~*", "&*", "+@all", "-unsubscribe"});
  rigs all = many(socket_url(server, "?user=ann&password=secret"), 3);
  all.pop_back();
  EXPECT_TRUE(eventually([&] { return channels(server) == 2; }));
  expect_pushed(*all[0], *all[1], "a");
  EXPECT_EQ(subscribers(server), 1U);
}

TEST(redis_hearing, when_the_subscription_is_cut_all_listen_again) {
  redis_server server;
  const rigs all = many(socket_url(server), 5);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(server.say({"CLIENT", "KILL", "TYPE", "pubsub"}).text, "1");
    EXPECT_TRUE(eventually([&] { return channels(server) == all.size(); }));
    EXPECT_EQ(subscribers(server), 1U);
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_pushed(*all[i], *all[(i + 1) % all.size()], "n" + std::to_string(i));
    }
  }
}

TEST(redis_hearing, threads_of_many_clients_that_wait_for_each_other_all_get_their_turns) {
  redis_server server;
  constexpr int clients = 12;
  std::atomic<int> turns{0};
  std::atomic<int> inside{0};
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&, i] {
        client mine = connect(socket_url(server));
        mutex lock{mine, i % 3 == 0 ? "a" : "b"};
        for (int round = 0; round < 100; ++round) {
          const std::lock_guard held{lock};
          inside.fetch_add(1);
          turns.fetch_add(1);
          inside.fetch_sub(1);
        }
      });
    }
    for (auto& each : threads) each.join();
  }
  EXPECT_EQ(turns.load(), clients * 100);
  EXPECT_EQ(threads_called("crosslock-hear"), 0U);
}

TEST(redis_hearing, clients_come_and_go_while_others_are_told) {
  redis_server server;
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server)};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!over) {
        engine_rig guest{socket_url(server)};
        // It is told something just when it goes.
        const seam::claim waits = engine_rig::claim("g" + std::to_string(i), true);
        const seam::grant held = one.take("g" + std::to_string(i));
        EXPECT_EQ(guest.ask(waits).result, ask_result::in_line);
        EXPECT_TRUE(one.give_back(held));
        guest.engine->close();
        one.engine->break_lock(*waits.name, waits.owner, engine_rig::soon());
      }
    });
  }
  for (int round = 0; round < 50; ++round) expect_pushed(one, other, "a");
  over = true;
  for (auto& each : threads) each.join();
  EXPECT_EQ(subscribers(server), 1U);
}

TEST(redis_hearing, one_whose_commands_go_to_another_server_goes_there_alone) {
  redis_server here;
  redis_server elsewhere;
  proxy::fault_proxy proxy;
  proxy::door& wire = proxy.open(here.address());
  const std::string url = "redis://127.0.0.1:" + std::to_string(wire.port());
  engine_rig moves{url};
  engine_rig stays{url};
  ASSERT_EQ(subscribers(here), 1U);
  int first = -1;  // the commands of the first one
  for (const proxy::connection_seen& each : wire.connections()) {
    if (!each.subscription && (first < 0 || each.link < first)) first = each.link;
  }
  wire.lead_to(elsewhere.address());
  wire.reset([&](const proxy::connection_seen& each) { return each.link == first; });
  EXPECT_TRUE(eventually([&] {
    try {
      (void)moves.ask(engine_rig::claim("any"));
    } catch (const error&) {
      return false;
    }
    return channels(elsewhere) == 1 && channels(here) == 1;
  }));
  engine_rig other_here{socket_url(here)};
  engine_rig other_there{socket_url(elsewhere)};
  expect_pushed(other_here, stays, "a");
  expect_pushed(other_there, moves, "a");
  // The name leads elsewhere now: whoever stays is not fooled by what it would hear there.
  EXPECT_EQ(here.say({"CLIENT", "KILL", "TYPE", "pubsub"}).text, "2");
  EXPECT_TRUE(eventually([&] { return channels(here) == 1; }));  // the one that comes directly
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(channels(elsewhere), 2U);
}

TEST(redis_hearing, one_that_stays_in_its_news_keeps_nobody_else_from_hearing) {
  redis_server server;
  auto stuck = std::make_unique<engine_rig>(socket_url(server));
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server)};
  std::promise<void> entered;
  std::promise<void> may_go_on;
  stuck->events.before_grant = [&] {
    entered.set_value();
    may_go_on.get_future().wait();
  };
  const seam::grant held = one.take("a");
  const seam::claim waits = engine_rig::claim("a", true);
  ASSERT_EQ(stuck->ask(waits).result, ask_result::in_line);
  EXPECT_TRUE(one.give_back(held));
  entered.get_future().wait();
  std::this_thread::sleep_for(500ms);  // more than news take
  // Whoever waits looks now and then, and finds out.
  for (engine_rig* each : {&one, &other}) (void)each->ask(engine_rig::claim("b"));
  EXPECT_TRUE(eventually([&] { return subscribers(server) == 2; }));
  for (int round = 0; round < 5; ++round) {
    expect_pushed(one, other, "c");
    expect_pushed(other, one, "c");
  }
  // Nor from closing, or from coming.
  {
    engine_rig guest{socket_url(server)};
    expect_pushed(one, guest, "d");
  }
  may_go_on.set_value();
  EXPECT_TRUE(stuck->events.await_grant(waits.owner, 2s));
  stuck.reset();
  EXPECT_TRUE(eventually([&] { return subscribers(server) == 1; }));
  expect_pushed(one, other, "c");
}

std::string run_id(redis_server& server) {
  const std::string info = server.say({"INFO", "server"}).text;
  const std::size_t at = info.find("run_id:") + std::string_view{"run_id:"}.size();
  return info.substr(at, info.find('\r', at) - at);
}

/// One client's part, without the engine around it.
struct small_client {
  explicit small_client(redis_server& server, std::string channel, connection::login greets = {},
                        duration timeout = 2s)
      : commands{address{.unix_path = server.address().path}, timeout, seam::real_clock(),
                 greets ? std::move(greets)
                        : connection::login{[](stream&, parser&, time_point) {}},
                 [this] { hears.ring(); }},
        hears{std::move(channel),
              commands,
              timeout,
              seam::real_clock(),
              {.heard =
                   [this](std::string_view) {
                     word.fetch_add(1);
                     hears.rouse(word);
                   },
               .listening = [] {},
               .deaf = [](const error&) {},
               .refused = [](const error&) {}}} {
    hears.must_be_of(run_id(server));
    hears.start(seam::real_clock().now() + 10s);
  }
  ~small_client() {
    hears.stop();
    commands.close();
  }

  seam::park_word word{0};
  connection commands;
  subscription hears;
};

TEST(redis_hearing, one_that_is_sent_away_and_back_listens_again) {
  redis_server server;
  small_client one{server, "one"};
  for (int i = 0; i < 20; ++i) {
    one.hears.must_be_of(std::nullopt);
    one.hears.must_be_of(run_id(server));
    EXPECT_TRUE(eventually([&] { return one.hears.listens(); })) << i;
  }
}

// As one does that leaves a hearing which hangs, and finds that it does no longer.
TEST(redis_hearing, one_that_moves_to_the_hearing_it_is_in_stays_there) {
  redis_server server;
  small_client host{server, "host"};
  const address where{.unix_path = server.address().path};
  const auto there = hearing::of(where, run_id(server), seam::real_clock());
  std::atomic<int> heard{0};
  const hearing_events events{.heard = [&](std::string_view) { ++heard; },
                              .listening = [] {},
                              .deaf = [](const error&) {},
                              .refused = [](const error&) {}};
  const auto sit_down = [&] {
    auto made = std::make_shared<listener>("moves", host.commands, events, 2s, seam::real_clock());
    EXPECT_TRUE(there->join(made));
    EXPECT_TRUE(there->await_start(*made, seam::real_clock().now() + 5s));
    return made;
  };
  const auto before = sit_down();
  const auto after = sit_down();
  there->leave(*before);
  before->await_alone();
  EXPECT_TRUE(after->listens.load());
  // Another that comes behind it is answered after whatever leaving has asked for.
  small_client last{server, "last"};
  EXPECT_EQ(server.say({"PUBLISH", "moves", "news"}).text, "1");
  EXPECT_TRUE(eventually([&] { return heard.load() == 1; }));
  there->leave(*after);
  after->await_alone();
}

TEST(redis_hearing, one_that_connects_for_long_keeps_no_waiter_from_its_news) {
  redis_server server;
  small_client waits{server, "waits"};
  std::promise<void> let_go;
  const auto gate = let_go.get_future().share();
  const auto slow = [gate](stream&, parser&, time_point) {
    gate.wait();
    throw error{errc::unreachable, "slow"};
  };
  small_client connects{server, "connects", slow};
  std::atomic<bool> told{false};
  std::thread thread{[&] {
    while (waits.word.load() == 0) waits.hears.await(waits.word, 0, time_point::max());
    told.store(true);
  }};
  connects.commands.send(plain_command{"PING"}, seam::real_clock().now() + 60s,
                         [](const reply*, const error*) {});
  // Again and again: it may come before the other begins to connect.
  EXPECT_TRUE(eventually([&] {
    server.say({"PUBLISH", "waits", "news"});
    return told.load();
  }));
  EXPECT_TRUE(eventually([&] {
    small_client another{server, "another"};
    return another.hears.listens();
  }));
  let_go.set_value();
  EXPECT_TRUE(eventually([&] {
    server.say({"PUBLISH", "waits", "news"});
    return told.load();
  }));
  thread.join();
}

// Threads that wait one after another take the reading from the hearing's own thread, which looks
// at what is left only every 50 ms then. It must know of those who wait without a thread. Time
// stands still for the client, so that "one after another" never ends.
TEST(redis_hearing, what_is_pushed_to_one_who_waits_without_a_thread_is_read_at_once) {
  redis_server server;
  engine_rig holder{socket_url(server)};
  stopped_time time;
  heard_events events;
  engine waits{address{.unix_path = server.address().path},
               preferences{},
               "waits",
               5s,
               events,
               time,
               engine::log{}};
  time.stop();
  for (int i = 0; i < 5; ++i) {
    seam::park_word word{0};
    std::thread one{[&] { waits.await_news(time, word, 0, time_point::max()); }};
    std::this_thread::sleep_for(5ms);  // nobody can tell that it has begun to listen
    word.store(1);
    waits.rouse(time, word);
    one.join();
  }
  constexpr int rounds = 20;
  const time_point began = seam::real_clock().now();
  for (int i = 0; i < rounds; ++i) {
    const seam::grant held = holder.take("a");
    const seam::claim claim = engine_rig::claim("a", true);
    waits.ask_async(claim, time.now() + 10s);
    ASSERT_TRUE(events.await_answer(claim.owner, 5s));
    ASSERT_TRUE(holder.give_back(held));
    const auto got = events.await_grant(claim.owner, 5s);
    ASSERT_TRUE(got);
    ASSERT_EQ(waits.release(*got, time.now() + 10s), seam::release_answer::released);
  }
  // Unread for 50 ms each, these would take a second.
  EXPECT_LT(seam::real_clock().now() - began, 500ms);
  waits.close();
}

TEST(redis_hearing, a_child_neither_uses_nor_ends_what_its_parent_hears_by) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer cannot follow the threads of a child";
#endif
  redis_server server;
  engine_rig one{socket_url(server)};
  engine_rig other{socket_url(server)};
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    one.engine->abandon();
    other.engine->abandon();
    bool well = false;
    try {
      engine_rig own{socket_url(server)};
      engine_rig second{socket_url(server)};
      const seam::grant held = own.take("child");
      const seam::claim waits = engine_rig::claim("child", true);
      well = second.ask(waits).result == ask_result::in_line && own.give_back(held) &&
             second.events.await_grant(waits.owner, 2s).has_value() && subscribers(server) == 2;
    } catch (const std::exception&) {
    }
    ::_exit(well ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(eventually([&] { return subscribers(server) == 1 && channels(server) == 2; }));
  expect_pushed(one, other, "a");
}

}  // namespace
}  // namespace crosslock::redis
