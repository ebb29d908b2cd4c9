// An upgrade that blocks nobody: begun by a callback, a future or co_await.
#include "conformance/async_forms.hpp"
#include "conformance/fixture.hpp"

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class async_upgrading : public conformance_case {
 protected:
  bool unsupported() { return !stage().traits().shared; }

  template <class Begun>
  bool ends(const std::shared_ptr<Begun>& one) {
    return eventually([&] { return one->ended(); });
  }
};
CONFORMANCE_ON_EVERY_STAGE(async_upgrading);

TEST_P(async_upgrading, a_lone_reader_becomes_a_writer_in_every_form) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (const form how : all_forms) {
      auto reading = lock.acquire_shared();
      const std::stop_token lost = reading.lost();
      const auto later = begin(how, lock.async_upgrade(reading));
      ASSERT_TRUE(ends(later)) << to_string(how);
      ASSERT_TRUE(later->hold()) << to_string(how);
      auto& writing = *later->hold();
      EXPECT_TRUE(writing.valid());
      EXPECT_EQ(writing.mode(), claim_mode::exclusive);
      EXPECT_GT(writing.fence(), reading.fence());
      EXPECT_EQ(writing.lost(), lost);  // who listens goes on listening
      EXPECT_FALSE(reading.valid());
      EXPECT_EQ(reading.release(), release_result::not_held);
      EXPECT_FALSE(theirs.try_acquire_shared());
      EXPECT_EQ(writing.release(), release_result::released);
      EXPECT_FALSE(lost.stop_requested());
      EXPECT_TRUE(theirs.try_acquire());
    }
  });
}

TEST_P(async_upgrading, it_waits_for_other_readers_and_can_be_stopped) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (const form how : all_forms) {
      auto reading = lock.acquire_shared();
      auto here = lock.acquire_shared();  // shares the grant
      auto there = theirs.acquire_shared();
      std::stop_source stop;
      const auto stopped = begin(how, lock.async_upgrade(reading, stop.get_token()));
      EXPECT_TRUE(line_reaches(others, "name", 1)) << to_string(how);
      EXPECT_FALSE(stopped->ended());
      stop.request_stop();
      ASSERT_TRUE(ends(stopped));
      EXPECT_TRUE(stopped->empty());
      EXPECT_TRUE(reading.valid());
      EXPECT_TRUE(line_reaches(others, "name", 0));
      const auto timed = begin(how, lock.async_upgrade(reading, {}, 20ms));
      ASSERT_TRUE(ends(timed));
      EXPECT_TRUE(timed->empty());
      EXPECT_TRUE(reading.valid());
      EXPECT_TRUE(line_reaches(others, "name", 0));
      const auto later = begin(how, lock.async_upgrade(reading));
      EXPECT_TRUE(line_reaches(others, "name", 1));
      there.release();
      EXPECT_FALSE(later->ended());
      here.release();
      ASSERT_TRUE(ends(later)) << to_string(how);
      ASSERT_TRUE(later->hold());
      EXPECT_EQ(later->hold()->mode(), claim_mode::exclusive);
    }
  });
}

TEST_P(async_upgrading, of_two_one_is_told_of_the_conflict_and_keeps_its_shared_hold) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    for (const form how : all_forms) {
      auto here = lock.acquire_shared();
      auto beside = lock.acquire_shared();
      auto there = theirs.acquire_shared();
      const auto first = begin(how, lock.async_upgrade(here));
      EXPECT_TRUE(line_reaches(others, "name", 1));
      const auto second = begin(how, theirs.async_upgrade(there));
      ASSERT_TRUE(ends(second));
      EXPECT_EQ(second->failure(), errc::upgrade_conflict) << to_string(how);
      EXPECT_TRUE(there.valid());
      const auto third = begin(how, lock.async_upgrade(beside));
      ASSERT_TRUE(ends(third));
      EXPECT_EQ(third->failure(), errc::upgrade_conflict) << to_string(how);
      EXPECT_TRUE(beside.valid());
      there.release();
      beside.release();
      ASSERT_TRUE(ends(first));
      EXPECT_TRUE(first->hold()) << to_string(how);
    }
  });
}

TEST_P(async_upgrading, a_shared_hold_that_is_released_or_lost_ends_its_upgrade) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto there = theirs.acquire_shared();
    {
      auto reading = lock.acquire_shared();
      const auto later = begin(form::future, lock.async_upgrade(reading));
      EXPECT_TRUE(line_reaches(others, "name", 1));
      EXPECT_EQ(reading.release(), release_result::released);
      ASSERT_TRUE(ends(later));
      EXPECT_EQ(later->failure(), errc::not_held);
    }
    EXPECT_TRUE(line_reaches(others, "name", 0));
    auto reading = lock.acquire_shared();
    const auto later = begin(form::future, lock.async_upgrade(reading));
    EXPECT_TRUE(line_reaches(others, "name", 1));
    EXPECT_TRUE(others.break_lock("name", reading.owner()));
    ASSERT_TRUE(ends(later));
    EXPECT_EQ(later->failure(), errc::lost);
    EXPECT_TRUE(line_reaches(others, "name", 0));
  });
}

TEST_P(async_upgrading, the_shared_hold_is_kept_when_only_its_object_ends) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    const client others = stage().connect();
    shared_mutex theirs{others, "name"};
    auto there = theirs.acquire_shared();
    std::shared_ptr<begun<hold>> later;
    {
      shared_mutex lock{locks, "name"};
      const auto reading = lock.acquire_shared();
      later = begin(form::callback, lock.async_upgrade(reading));
    }
    EXPECT_TRUE(line_reaches(others, "name", 1));
    EXPECT_EQ(others.look("name").holders.size(), 2u);
    there.release();
    ASSERT_TRUE(ends(later));
    EXPECT_TRUE(later->hold() && later->hold()->valid());
  });
}

TEST_P(async_upgrading, what_cannot_be_upgraded_is_refused) {
  play([this] {
    if (unsupported()) return;
    const client locks = stage().connect();
    shared_mutex lock{locks, "name"};
    shared_mutex another{locks, "another"};
    auto reading = lock.acquire_shared();
    EXPECT_EQ(code_of([&] { (void)another.async_upgrade(reading); }), errc::conflict);
    lock.upgrade(reading);
    const auto refused = [&](const hold& held) {
      return code_of([&] { lock.upgrade_async(held, [](acquire_result) {}); });
    };
    EXPECT_EQ(refused(reading), errc::conflict);  // it is exclusive already
    reading.release();
    EXPECT_EQ(refused(reading), errc::not_held);
  });
}

}  // namespace
}  // namespace crosslock::conformance
