// What is held within a session is kept by one deadline: no request and no alarm for each hold.
#include "keeper/keeper.hpp"

#include "engine/deadline.hpp"
#include "world/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;

/// Has a session, and is asked for nothing.
class session_engine final : public seam::engine {
 public:
  explicit session_engine(int& asked) : asked_{asked} {}

  const seam::traits& about() const noexcept override { return traits_; }
  seam::answer ask(const seam::claim&, time_point) override { return nothing<seam::answer>(); }
  void ask_async(const seam::claim&, time_point) override { ++asked_; }
  void withdraw(const seam::claim&, time_point) override { ++asked_; }
  void renew(std::span<seam::renewal>, time_point) override { ++asked_; }
  seam::release_answer release(const seam::grant&, time_point) override {
    return nothing<seam::release_answer>();
  }
  std::optional<seam::grant> adopt(const seam::grant&, const seam::claim&, time_point) override {
    return nothing<std::optional<seam::grant>>();
  }
  bool break_lock(const lock_name&, owner_id, time_point) override { return nothing<bool>(); }
  lock_info look(const lock_name&, time_point) override { return nothing<lock_info>(); }
  std::vector<lock_info> list(std::string_view, time_point) override { return {}; }
  seam::cell read_cell(const lock_name&, time_point) override { return nothing<seam::cell>(); }
  seam::swap_answer swap_cell(const seam::cell_swap&, time_point) override {
    return nothing<seam::swap_answer>();
  }
  std::optional<seam::cell> open_cell(const lock_name&, fence, time_point) override { return {}; }
  void close() noexcept override {}
  void abandon() noexcept override {}

 private:
  template <class Answer>
  Answer nothing() {
    ++asked_;
    return {};
  }

  const seam::traits traits_{.name = "test", .lease_is_session = true};
  int& asked_;
};

class losses final : public lease_record_listener {
 public:
  explicit losses(seam::clock& clock) : clock_{clock} {}
  void lost(lease_record& record, loss_reason reason) noexcept override {
    told[&record] = {clock_.now(), reason};
    if (then) then(record);
  }
  void renewed(lease_record&, const seam::renewal&) noexcept override {}

  struct notice {
    time_point when;
    loss_reason why;
  };
  std::map<const lease_record*, notice> told;
  std::function<void(const lease_record&)> then;

 private:
  seam::clock& clock_;
};

class keeper_session : public testing::Test {
 protected:
  static constexpr duration lease = 10s;

  void play(const std::function<void()>& body) {
    world_.run([&] {
      listener_ = std::make_shared<losses>(world_.test());
      keeper_ = std::make_unique<keeper>(std::make_unique<session_engine>(asked_), world_.test(),
                                         settings_);
      session_ = std::make_shared<seam::session>(now(), lease);
      body();
      keeper_.reset();
    });
    EXPECT_EQ(asked_, 0);
  }

  time_point now() const { return world_.now(); }

  std::shared_ptr<lease_record> granted(std::optional<duration> fixed = std::nullopt) {
    auto one = std::make_shared<lease_record>();
    one->claim.name = std::make_shared<const lock_name>("name");
    one->claim.lease = fixed.value_or(lease);
    one->fixed = fixed.has_value();
    one->listener = listener_;
    one->grant.lease = lease;
    one->grant.asked = now();
    one->grant.session = session_;
    return one;
  }

  std::vector<std::shared_ptr<lease_record>> hold(int count) {
    std::vector<std::shared_ptr<lease_record>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(granted());
      EXPECT_TRUE(keeper_->keep(all.back()));
    }
    return all;
  }

  world::world world_{20261117};
  settings settings_;
  int asked_ = 0;
  std::shared_ptr<losses> listener_;
  std::shared_ptr<seam::session> session_;
  std::unique_ptr<keeper> keeper_;
};

TEST_F(keeper_session, a_session_that_goes_on_keeps_all_its_holds_without_a_request) {
  play([&] {
    const auto all = hold(100);
    for (int i = 0; i < 20; ++i) {
      world_.sleep(lease / 2);
      ASSERT_TRUE(session_->extend(now(), lease, now()));
    }
    EXPECT_TRUE(listener_->told.empty());
    for (const auto& one : all) EXPECT_EQ(one->deadline(), session_->deadline());
  });
}

TEST_F(keeper_session, all_holds_are_told_before_the_session_can_end) {
  play([&] {
    const auto all = hold(100);
    world_.sleep(lease / 2);
    ASSERT_TRUE(session_->extend(now(), lease, now()));
    const time_point deadline = session_->deadline();
    world_.sleep(lease);
    EXPECT_EQ(listener_->told.size(), all.size());
    for (const auto& [one, notice] : listener_->told) {
      EXPECT_EQ(notice.why, loss_reason::expired);
      EXPECT_LT(notice.when, deadline);
      EXPECT_GE(notice.when, deadline - seam::notice_lead(lease));
    }
  });
}

TEST_F(keeper_session, one_that_comes_back_shorter_ends_every_hold_by_the_new_deadline) {
  play([&] {
    const time_point proven = now();
    const auto all = hold(100);
    world_.sleep(1s);
    ASSERT_TRUE(session_->shorten(proven, 4s));
    for (const auto& one : all) EXPECT_EQ(one->deadline(), seam::valid_until(proven, 4s));
    keeper_->session_cut();
    world_.sleep(lease);
    EXPECT_EQ(listener_->told.size(), all.size());
    for (const auto& [one, notice] : listener_->told) {
      EXPECT_LT(notice.when, seam::valid_until(proven, 4s));
    }
  });
}

TEST_F(keeper_session, one_that_is_too_short_by_now_ends_every_hold_at_once) {
  play([&] {
    const time_point proven = now();
    const auto all = hold(100);
    world_.sleep(6s);
    ASSERT_TRUE(session_->shorten(proven, 4s));
    for (const auto& one : all) EXPECT_LE(one->deadline(), now());
    keeper_->session_cut();
    world_.sleep(0s);
    world_.sleep(1ms);
    EXPECT_EQ(listener_->told.size(), all.size());
    EXPECT_FALSE(keeper_->keep(granted())) << "nor is anything granted within it";
  });
}

TEST_F(keeper_session, one_that_has_ended_takes_its_holds_with_it_and_nobody_elses) {
  play([&] {
    const auto before = hold(10);
    session_->end();
    keeper_->session_cut();
    EXPECT_FALSE(keeper_->keep(granted()));
    session_ = std::make_shared<seam::session>(now(), lease);
    const auto after = hold(10);
    world_.sleep(1ms);
    EXPECT_EQ(listener_->told.size(), before.size());
    for (const auto& one : before) EXPECT_EQ(listener_->told.at(one.get()).why, loss_reason::gone);
    for (const auto& one : after) EXPECT_TRUE(keeper_->end(*one));
  });
}

TEST_F(keeper_session, a_fixed_lease_and_the_longest_hold_have_their_own_ends) {
  settings_.max_hold = 5s;
  play([&] {
    const time_point began = now();
    const auto fixed = granted(2s);
    EXPECT_TRUE(keeper_->keep(fixed));
    const auto plain = hold(1).front();
    for (int i = 0; i < 7; ++i) {
      world_.sleep(1s);
      ASSERT_TRUE(session_->extend(now(), lease, now()));
    }
    ASSERT_EQ(listener_->told.size(), 2U);
    EXPECT_EQ(listener_->told.at(fixed.get()).why, loss_reason::lease_ended);
    EXPECT_LT(listener_->told.at(fixed.get()).when, began + 2s);
    EXPECT_EQ(listener_->told.at(plain.get()).why, loss_reason::max_hold);
    EXPECT_EQ(listener_->told.at(plain.get()).when, began + 5s);
  });
}

// A grant that is passed on counts anew, unless it is being ended: the next thread would lose what
// it has only just got.
TEST_F(keeper_session, the_longest_hold_that_is_over_is_not_passed_on) {
  settings_.max_hold = 5s;
  play([&] {
    const auto both = hold(2);
    world_.sleep(4s);
    for (const auto& one : both) EXPECT_TRUE(keeper_->hold_begins(*one, now()));
    int refused = 0;
    listener_->then = [&](const lease_record& first) {
      // The clock thread has taken both, and ends the other one next.
      const auto& other = both[0].get() == &first ? both[1] : both[0];
      if (listener_->told.size() == 1) refused += keeper_->hold_begins(*other, now()) ? 0 : 1;
    };
    world_.sleep(4s);
    ASSERT_TRUE(session_->extend(now(), lease, now()));
    EXPECT_TRUE(listener_->told.empty());
    world_.sleep(2s);
    EXPECT_EQ(listener_->told.size(), 2U);
    EXPECT_EQ(refused, 1);
  });
}

TEST_F(keeper_session, a_fixed_lease_ends_with_its_session_at_the_latest) {
  play([&] {
    const auto fixed = granted(1h);
    EXPECT_TRUE(keeper_->keep(fixed));
    EXPECT_EQ(fixed->deadline(), session_->deadline());
    world_.sleep(lease);
    EXPECT_EQ(listener_->told.at(fixed.get()).why, loss_reason::expired);
  });
}

TEST_F(keeper_session, whoever_was_released_is_told_nothing) {
  play([&] {
    const auto all = hold(5);
    EXPECT_TRUE(keeper_->end(*all[1]));
    EXPECT_TRUE(keeper_->end(*all[4]));
    EXPECT_TRUE(keeper_->end(*all[0]));
    world_.sleep(lease);
    EXPECT_EQ(listener_->told.size(), 2U);
    EXPECT_TRUE(listener_->told.contains(all[2].get()));
    EXPECT_TRUE(listener_->told.contains(all[3].get()));
  });
}

}  // namespace
}  // namespace crosslock::inner
