// Rights that others take away and give back, and what the rest of a client has to do with it.
#include "faults/zookeeper_case.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace crosslock::faults {
namespace {

class zookeeper_with_rights : public zookeeper_alone {
 protected:
  zookeeper_with_rights() : zookeeper_alone{{.machine = {servers::with_super_user()}}} {}

  static constexpr std::int32_t read_only = 1;
  static constexpr std::int32_t everything = 31;

  servers::zookeeper_talk administrator() {
    servers::zookeeper_talk talk{server().address()};
    talk.authenticate("super", servers::super_password);
    return talk;
  }
  void set_rights(servers::zookeeper_talk& as, const std::string& path, std::int32_t which) {
    as.set_rights(testbed().root() + path, which, {{"world", "anyone"}});
  }
};

TEST_F(zookeeper_with_rights, F33_a_downgrade_that_is_refused_costs_no_other_hold) {
  const client locks = connect(session, impatient(300ms));
  mutex other{locks, "other"};
  const hold kept = other.acquire();
  shared_mutex lock{locks, "name"};
  hold held = lock.acquire();
  servers::zookeeper_talk admin = administrator();
  set_rights(admin, "/name", read_only);
  const errc said = code_of([&] { lock.downgrade(held); });
  EXPECT_TRUE(said == errc{} || said == errc::denied || said == errc::timed_out)
      << static_cast<int>(said);
  const time_point until = now() + 2 * session;
  while (now() < until) {
    ASSERT_TRUE(kept.valid());
    sleep_for_real(10ms);
  }
}

TEST_F(zookeeper_with_rights, F33_whoever_was_refused_goes_on_and_leaves_nothing_behind) {
  const client locks = connect(steady, impatient(300ms));
  mutex lock{locks, "name"};
  hold held = lock.acquire();
  mutex other{locks, "other"};
  take_and_release("other");
  servers::zookeeper_talk admin = administrator();
  const std::string sessions = "/crosslock:/sessions";
  set_rights(admin, sessions, read_only);
  // Without the node that its heartbeats write to a session proves nothing.
  for (const std::string& each : admin.children(testbed().root() + sessions)) {
    admin.remove(testbed().root() + sessions + "/" + each);
  }
  const auto code = [&] { return code_of([&] { (void)other.try_acquire(); }); };
  ASSERT_TRUE(eventually([&] { return code() == errc::denied; }));
  EXPECT_EQ(held.release(), release_result::unknown);
  set_rights(admin, sessions, everything);
  // It asks all the time.
  const time_point given_back = now();
  EXPECT_TRUE(eventually([&] { return code() == errc{}; }, 4s));
  EXPECT_TRUE(eventually([&] { return admin.children(testbed().root() + "/name").empty(); }, 4s))
      << (now() - given_back).count();
}

class zookeeper_with_another_hash : public zookeeper_alone {
 protected:
  zookeeper_with_another_hash()
      : zookeeper_alone{
            {.machine = {"-Dzookeeper.DigestAuthenticationProvider.digestAlg=SHA-256"}}} {}
};

TEST_F(zookeeper_with_another_hash, F33_rights_are_written_as_the_servers_hash_passwords) {
  for (const std::string user : {"", "anne:secret@", "crosslock:secret@"}) {
    SCOPED_TRACE(user);
    std::string url = testbed().url(0);
    url.insert(url.find("127"), user);
    url.insert(url.find('?'), "/of-" + user.substr(0, user.find(':')));
    options how;
    how.lease = session;
    const client locks = crosslock::connect(url, how);
    mutex lock{locks, "name"};
    hold held = lock.acquire();
    sleep_for_real(2 * session);
    EXPECT_TRUE(held.valid()) << "its heartbeats are written";
    EXPECT_EQ(held.release(), release_result::released);
    const client others = crosslock::connect(url, how);
    EXPECT_TRUE(mutex(others, "name").try_acquire());
    EXPECT_TRUE(mutex(others, "other/name").try_acquire());
  }
}

/// Sessions are numbered, so anybody can tell the next one's node, and by its rights whom our
/// claims would name as their owner.
TEST_F(zookeeper_faults, F33_a_node_put_in_the_place_of_a_sessions_own_is_not_believed) {
  { const client locks = connect(steady); }  // the parents are there
  servers::zookeeper_talk stranger = testbed().talk();
  const std::string sessions = testbed().root() + "/crosslock:/sessions/";
  std::vector<std::string> traps;
  for (std::int64_t next = 1; next <= 4; ++next) {
    char id[17];
    std::snprintf(id, sizeof id, "%016llx",
                  static_cast<unsigned long long>(stranger.session().id + next));
    traps.push_back(stranger.create(sessions + id));
    stranger.set_rights(traps.back(), 31,
                        {{"world", "anyone"}, {"digest", "crosslock:somebody else's"}});
  }
  EXPECT_EQ(code_of([&] { connect(steady); }), errc::denied);
  for (const std::string& each : traps) stranger.remove(each);
  EXPECT_TRUE(mutex(connect(steady), "name").try_acquire());
}

TEST_F(zookeeper_faults, F14_a_node_that_was_removed_is_lost_at_a_downgrade) {
  const client locks = connect(steady);
  shared_mutex lock{locks, "name"};
  hold held = lock.acquire();
  for (const std::string& each : line_of("name")) {
    testbed().talk().remove(testbed().root() + "/name/" + each);
  }
  const time_point removed = now();
  (void)code_of([&] { lock.downgrade(held); });
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_LE(now() - removed, stall);
}

TEST_F(zookeeper_faults, F6_a_try_for_permits_behind_one_that_is_frozen_is_busy_after_a_moment) {
  const client locks = connect(steady);
  semaphore lock{locks, "name", 3};
  (void)lock.acquire();  // its parents are there
  servers::zookeeper_talk frozen = testbed().talk();
  // Before it has looked at the permits.
  frozen.create(testbed().root() + "/name/locks/lock-", {},
                servers::zookeeper_talk::kind::ephemeral_sequential);
  for (int i = 0; i < 2; ++i) {
    const time_point asked = now();
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_LE(now() - asked, 1s + stall);
  }
  frozen.close();
  EXPECT_TRUE(eventually([&] { return lock.try_acquire().has_value(); }));
}

}  // namespace
}  // namespace crosslock::faults
