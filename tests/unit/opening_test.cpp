// Where the settings of a client come from, and what is refused before anything is connected.
#include "client/opening.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

/// Sets a variable for the time of a test.
class environment {
 public:
  environment(const char* name, const char* value) : name_{name} {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~environment() { set(before_ ? before_->c_str() : nullptr); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  void set(const char* value) {
    if (value) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }

  const char* name_;
  std::optional<std::string> before_;
};

template <class Call>
std::string refusal(errc expected, Call&& call) {
  try {
    call();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), expected) << why.what();
    return why.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(opening, defaults_are_thirty_seconds_of_lease_and_no_prefix) {
  const auto plan = inner::plan_opening("memory:", {});
  EXPECT_EQ(plan.settings.lease, 30s);
  EXPECT_EQ(plan.settings.timeout, 5s);
  EXPECT_EQ(plan.settings.prefix, "");
  EXPECT_EQ(plan.settings.max_hold, duration::max());
}

TEST(opening, the_program_beats_the_url_and_the_url_beats_the_environment) {
  const environment lease{"CROSSLOCK_LEASE", "7s"};
  const environment prefix{"CROSSLOCK_PREFIX", "env/"};
  EXPECT_EQ(inner::plan_opening("memory:", {}).settings.lease, 7s);
  EXPECT_EQ(inner::plan_opening("memory:", {}).settings.prefix, "env/");
  EXPECT_EQ(inner::plan_opening("memory:?lease=8s&prefix=url/", {}).settings.lease, 8s);
  EXPECT_EQ(inner::plan_opening("memory:?lease=8s&prefix=url/", {}).settings.prefix, "url/");
  options said;
  said.lease = 9s;
  said.prefix = "code/";
  EXPECT_EQ(inner::plan_opening("memory:?lease=8s&prefix=url/", said).settings.lease, 9s);
  EXPECT_EQ(inner::plan_opening("memory:?lease=8s&prefix=url/", said).settings.prefix, "code/");
}

TEST(opening, bad_values_are_named) {
  const environment lease{"CROSSLOCK_LEASE", "soon"};
  EXPECT_NE(refusal(errc::invalid_lease, [] { (void)connect("memory:"); }).find("CROSSLOCK_LEASE"),
            std::string::npos);
  EXPECT_NE(refusal(errc::invalid_url, [] { (void)connect("memory:?lease=x"); }).find("lease"),
            std::string::npos);
  EXPECT_NE(refusal(errc::invalid_url, [] { (void)connect("memory:?lease=1s&no=1"); }).find("no"),
            std::string::npos);
}

TEST(opening, whether_unlock_waits_is_said_by_program_or_url) {
  EXPECT_FALSE(inner::plan_opening("memory:", {}).settings.unlock_waits);
  EXPECT_FALSE(inner::plan_opening("memory:?unlock=posts", {}).settings.unlock_waits);
  EXPECT_TRUE(inner::plan_opening("memory:?unlock=waits", {}).settings.unlock_waits);
  options said;
  said.unlock_waits = true;
  EXPECT_TRUE(inner::plan_opening("memory:", said).settings.unlock_waits);
  const std::string why = refusal(errc::invalid_url, [] { (void)connect("memory:?unlock=soon"); });
  EXPECT_NE(why.find("unlock"), std::string::npos) << why;
}

TEST(opening, leases_outside_the_engines_range_are_refused) {
  for (const duration lease : {duration{0}, duration{-1s}, duration{1ns}, duration{25h},
                               duration::max(), duration::min()}) {
    options said;
    said.lease = lease;
    refusal(errc::invalid_lease, [&] { (void)connect("memory:opening", said); });
    auto locks = connect("memory:opening");
    mutex a{locks, "a"};
    refusal(errc::invalid_lease, [&] { (void)a.try_acquire({.lease = lease}); });
  }
}

TEST(opening, a_negative_wait_is_a_try_and_an_endless_one_does_not_overflow) {
  auto locks = connect("memory:opening");
  mutex a{locks, "a"};
  EXPECT_TRUE(a.try_acquire_for(-1ns));
  EXPECT_TRUE(a.try_acquire_for(std::chrono::hours::max()));
  EXPECT_TRUE(a.try_acquire_for(0s));
}

TEST(opening, an_engine_that_is_not_linked_is_named) {
  const std::string text =
      refusal(errc::unsupported, [] { (void)connect("etcd://ann:secret@localhost"); });
  EXPECT_NE(text.find("crosslock::etcd"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  refusal(errc::invalid_url, [] { (void)connect("gopher://localhost"); });
  refusal(errc::invalid_url, [] { (void)connect(""); });
}

TEST(opening, without_a_url_the_environment_decides) {
  const environment url{"CROSSLOCK_URL", "memory:from-environment"};
  auto locks = connect();
  auto same = connect("memory:from-environment");
  mutex a{locks, "a"};
  mutex b{same, "a"};
  auto held = a.acquire();
  EXPECT_FALSE(b.try_acquire());
}

TEST(opening, without_a_home_the_embedded_default_says_what_to_do) {
  const environment url{"CROSSLOCK_URL", nullptr};
  const environment state{"XDG_STATE_HOME", nullptr};
  const environment home{"HOME", nullptr};
  const std::string text = refusal(errc::invalid_url, [] { (void)connect(); });
  EXPECT_NE(text.find("CROSSLOCK_URL"), std::string::npos) << text;
}

TEST(opening, a_prefix_separates_clients_and_is_not_shown) {
  options mine;
  mine.prefix = "team-a/";
  auto ours = connect("memory:prefixes", mine);
  auto all = connect("memory:prefixes");
  mutex a{ours, "job"};
  mutex b{all, "job"};
  mutex c{all, "team-a/job"};
  auto held = a.acquire();
  EXPECT_TRUE(b.try_acquire());
  EXPECT_FALSE(c.try_acquire());
  EXPECT_EQ(ours.look("job").name, "job");
  ASSERT_EQ(ours.list().size(), 1u);
  EXPECT_EQ(ours.list().at(0).name, "job");
  EXPECT_EQ(all.list("team-a/").at(0).name, "team-a/job");
  refusal(errc::invalid_name, [&] { mutex bad{ours, ""}; });
}

TEST(opening, a_password_file_is_read_and_a_missing_one_is_named) {
  const environment file{"CROSSLOCK_PASSWORD_FILE", "/nonexistent/password"};
  EXPECT_NE(refusal(errc::denied, [] { inner::plan_opening("redis://ann@localhost", {}); })
                .find("/nonexistent/password"),
            std::string::npos);
  EXPECT_NE(refusal(errc::denied, [] { inner::plan_opening("redis+unix:///run/a.sock", {}); })
                .find("/nonexistent/password"),
            std::string::npos);
  EXPECT_NO_THROW(inner::plan_opening("memory:", {}));
  EXPECT_NO_THROW(inner::plan_opening("sqlite:///run/a.db", {}));
}

TEST(opening, schemes_that_are_still_to_come_are_told_from_misspelled_ones) {
  for (const char* const url : {"redis+sentinel://a,b/main", "redis+cluster://a,b"}) {
    const std::string text = refusal(errc::unsupported, [&] { (void)connect(url); });
    EXPECT_NE(text.find("name the primary itself"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace crosslock
