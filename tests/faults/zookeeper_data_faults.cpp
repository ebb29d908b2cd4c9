// Sessions and nodes that others take away; clocks; wake-ups that die.
#include "faults/zookeeper_case.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace crosslock::faults {
namespace {

namespace fs = std::filesystem;

TEST_F(zookeeper_faults, F14_a_session_ended_by_another_handle_is_lost_at_once) {
  const client viewer = connect();
  const auto [holder, next, first] = holder_and_waiter(viewer, steady, steady);
  EXPECT_EQ(holder->say("write name 1"), "accepted");
  holder->send("work name 60000");
  note(fault::admin_delete, "name");
  end_session_of(*holder);
  const time_point ended = now();
  const fence second = fence_in(next->answer());
  EXPECT_LE(now() - ended, stall);
  EXPECT_GT(second, first);
  EXPECT_EQ(next->say("write name 2"), "accepted");
  EXPECT_EQ(holder->answer(), "lost");
  const notice told = ask_notice(*holder, "name");
  EXPECT_EQ(told.times, 1);
  EXPECT_LE(told.when - ended, look_cap);  // it hears of it when it has connected again
  EXPECT_EQ(holder->say("write name 3"), "refused");
  EXPECT_EQ(holder->say("release name"), "lost");
  EXPECT_EQ(next->say("work name 300"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  // In a session of its own, again.
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  EXPECT_EQ(holder->say("release name"), "released");
  judge_with_stale_write();
}

TEST_F(zookeeper_faults, F14_a_waiter_whose_session_was_ended_stands_in_line_anew) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, steady, steady);
  const auto third = start("third", steady);
  third->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  note(fault::other);
  end_session_of(*waiter);
  // Behind the third now, and not inside: the holder still holds.
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  EXPECT_EQ(holder->say("work name 500"), "held");
  EXPECT_FALSE(waiter->has_answered());
  EXPECT_EQ(holder->say("release name"), "released");
  in_at(*third);
  EXPECT_EQ(third->say("work name 300"), "held");
  EXPECT_FALSE(waiter->has_answered());
  EXPECT_EQ(third->say("release name"), "released");
  in_at(*waiter);
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(zookeeper_faults, F14_a_grant_on_its_way_while_its_session_is_ended_is_lost_at_once) {
  const client viewer = connect();
  const auto [holder, waiter, first] = holder_and_waiter(viewer, steady, steady);
  const auto third = start("third", steady);
  third->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  proxy::door& line = wire(*waiter);
  const auto held = line.add({.going = way::to_client,
                              .matches = proxy::is_push(),
                              .times = proxy::rule::always,
                              .what = fate::hold()});
  EXPECT_EQ(holder->say("release name"), "released");
  ASSERT_TRUE(line.await(held));  // the news that lets it in
  note(fault::admin_delete, "name");
  end_session_of(*waiter);
  in_at(*third);
  EXPECT_EQ(third->say("write name 1"), "accepted");
  const time_point arrived = now();
  line.remove(held);
  line.release();
  // What was true when it was sent is believed until the end of the connection is heard of.
  in_at(*waiter);
  EXPECT_TRUE(eventually([&] { return waiter->say("valid name") == "no"; }));
  EXPECT_LE(now() - arrived, look_cap);
  EXPECT_EQ(waiter->say("write name 2"), "refused");
  EXPECT_EQ(waiter->say("release name"), "lost");
  EXPECT_EQ(third->say("work name 500"), "held");
  EXPECT_EQ(third->say("release name"), "released");
  judge_with_stale_write();
}

TEST_F(zookeeper_faults, F31_a_predecessor_gone_between_listing_and_watching_is_noticed) {
  const client viewer = connect();
  const auto holder = start("holder", steady);
  const auto waiter = start("waiter", steady);
  EXPECT_TRUE(holder->say("acquire name 20000").starts_with("held"));
  proxy::door& line = wire(*waiter);
  const auto held = line.add({.going = way::to_server,
                              .matches =
                                  [](const proxy::sighting& seen) {
                                    return seen.words.size() == 3 && seen.words[2] == "watch";
                                  },
                              .what = fate::hold()});
  waiter->send("acquire name 60000");
  ASSERT_TRUE(line.await(held));  // it has listed, and is about to watch
  EXPECT_EQ(holder->say("release name"), "released");
  const time_point released = now();
  line.release();
  EXPECT_LE(in_at(*waiter) - released, stall);
  EXPECT_EQ(waiter->say("release name"), "released");
  judge();
}

TEST_F(zookeeper_faults, F31_a_thousand_contended_cycles_leave_no_watch_behind) {
  std::vector<std::unique_ptr<real_actor>> actors;
  for (int i = 0; i < 4; ++i) actors.push_back(start("p", steady));
  const std::int64_t before = server().number("zk_watch_count");
  for (const auto& each : actors) each->send("loop name 250 0");
  for (const auto& each : actors) EXPECT_EQ(each->answer(), "done 250");
  EXPECT_GT(testbed().pushes(), 100U);  // they did wait for each other
  EXPECT_TRUE(eventually([&] { return server().number("zk_watch_count") == before; }, 5s))
      << server().say("wchs");
  EXPECT_TRUE(testbed().leftovers().size() == actors.size());  // their sessions, nothing else
  judge();
}

/// A server whose wall clock can be put off.
class zookeeper_with_clock : public zookeeper_alone {
 protected:
  zookeeper_with_clock() : zookeeper_alone{shimmed()} {}
  ~zookeeper_with_clock() override { fs::remove(file()); }
  void put_off(std::int64_t seconds) {
    note(fault::other);
    write(seconds);
  }

 private:
  static fs::path file() {
    return fs::temp_directory_path() / ("crosslock-clock-" + std::to_string(::getpid()));
  }
  static void write(std::int64_t seconds) {
    std::fstream out{file(), std::ios::in | std::ios::out | std::ios::binary};
    out.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
  }
  static servers::zookeeper_options shimmed() {
    std::ofstream{file(), std::ios::binary};
    write(0);
    const fs::path shim =
        fs::read_symlink("/proc/self/exe").parent_path() / "libcrosslock-clock-shim.so";
    return {
        .through = {"env", "LD_PRELOAD=" + shim.string(), "CLOCK_SHIM_FILE=" + file().string()}};
  }
};

TEST_F(zookeeper_with_clock, F12_F13_a_wall_clock_an_hour_off_changes_nothing) {
  const client viewer = connect();
  fence last;
  for (const std::int64_t seconds : {3600, -3600}) {
    SCOPED_TRACE(seconds);
    const auto [holder, next, first] = holder_and_waiter(viewer);
    EXPECT_GT(first, last);
    put_off(seconds);
    EXPECT_EQ(holder->say("work name 3000"), "held");
    EXPECT_FALSE(next->has_answered());
    // And the end of a session comes no later.
    holder->kill();
    const time_point killed = now();
    last = fence_in(next->answer());
    EXPECT_LE(now() - killed, session + after_session);
    EXPECT_GT(last, first);
    EXPECT_EQ(next->say("release name"), "released");
    put_off(0);
  }
  judge();
}

/// Their libraries would go in beside ours. Here is what they write.
TEST_F(zookeeper_faults, F14_a_name_that_another_library_uses_otherwise_is_a_conflict) {
  const client locks = connect(steady);
  servers::zookeeper_talk other = testbed().talk();
  using kind = servers::zookeeper_talk::kind;
  const std::string uuid = "01234567-89ab-4def-8123-456789abcdef";
  const auto code = [&](const std::string& how, const std::string& name) {
    return code_of([&] {
      if (how == "mutex") (void)mutex(locks, name).try_acquire();
      if (how == "write") (void)shared_mutex(locks, name).try_acquire();
      if (how == "read") (void)shared_mutex(locks, name).try_acquire_shared();
      if (how == "permits") (void)semaphore(locks, name, 3).try_acquire();
    });
  };
  struct row {
    std::string name;
    std::string child;
    kind what;
    std::vector<std::string> refused;
    std::vector<std::string> fine;
  };
  const auto line = kind::ephemeral_sequential;
  for (const row& each :
       {row{"curators-readers", "_c_" + uuid + "-__READ__", line, {"mutex"}, {"read", "write"}},
        row{"curators-mutex", "_c_" + uuid + "-lock-", line, {"read", "write"}, {"mutex"}},
        row{"curators-latch", "_c_" + uuid + "-latch-", line, {"mutex", "read", "permits"}, {}},
        row{"kazoos-lock", "0123456789ab4def8123456789abcdef__lock__", line, {"mutex"}, {}},
        row{"kazoos-semaphore",
            "0123456789ab4def8123456789abcdef",
            kind::ephemeral,
            {"mutex", "permits"},
            {}},
        row{"a-name-below",
            "0123456789ab4def8123456789abcdef",
            kind::container,
            {},
            {"mutex", "permits", "read"}}}) {
    SCOPED_TRACE(each.name);
    const std::string place = testbed().root() + "/" + each.name;
    other.create(place);
    other.create(place + "/" + each.child, {}, each.what);
    for (const std::string& how : each.refused) EXPECT_EQ(code(how, each.name), errc::conflict);
    for (const std::string& how : each.fine) EXPECT_EQ(code(how, each.name), errc{}) << how;
    EXPECT_TRUE(eventually([&] {
      auto left = other.children(place);
      std::erase_if(left, [](const auto& one) { return one == "locks" || one == "leases"; });
      return left.size() == 1 && other.children(place + "/locks").empty();
    })) << "nothing is left";
  }
}

/// The server sweeps its empty folders away one by one, and whoever queues needs only one of them.
TEST_F(zookeeper_faults, F14_a_semaphore_of_which_one_folder_is_left_is_still_a_semaphore) {
  using kind = servers::zookeeper_talk::kind;
  const client locks = connect(steady);
  const std::string name = testbed().root() + "/name";
  const std::string id = "_c_01234567-89ab-cdef-0123-456789abcdef";
  const std::vector<std::pair<std::string, std::string>> left{{"/locks", id + "-p1-lock-"},
                                                              {"/leases", id + "-lease-"}};
  for (const auto& [folder, claim] : left) {
    SCOPED_TRACE(folder);
    servers::zookeeper_talk other = testbed().talk();
    other.remove_tree(name);
    other.create(name);
    other.create(name + folder);
    const std::string node =
        other.create(name + folder + "/" + claim, {}, kind::ephemeral_sequential);
    mutex lock{locks, "name"};
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::conflict);
    other.remove(node);
    EXPECT_TRUE(lock.try_acquire()) << "empty folders keep nobody out";
  }
}

}  // namespace
}  // namespace crosslock::faults
