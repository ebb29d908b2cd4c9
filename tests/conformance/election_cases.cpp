// Leaders: one at a time, and everybody learns who it is.
#include "conformance/fixture.hpp"
#include "conformance/governed.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

/// What an observer was told, in its order. Thread-safe.
class news {
 public:
  void add(const leader_info& heard) {
    const std::lock_guard guard{mutex_};
    heard_.push_back(heard);
  }
  std::vector<leader_info> all() const {
    const std::lock_guard guard{mutex_};
    return heard_;
  }
  bool has(const std::string& value) const {
    const auto heard = all();
    return std::any_of(heard.begin(), heard.end(),
                       [&](const leader_info& each) { return each.value == value; });
  }
  bool in_order() const {
    const auto heard = all();
    return std::is_sorted(
        heard.begin(), heard.end(),
        [](const leader_info& a, const leader_info& b) { return a.fence < b.fence; });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<leader_info> heard_;
};

class electing : public conformance_case {
 protected:
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { election(locks, "office"); }), errc::unsupported);
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }

  static std::string leader_of(const election& office) {
    const auto found = office.leader();
    return found ? found->value : "nobody";
  }
};
CONFORMANCE_ON_EVERY_STAGE(electing);

TEST_P(electing, one_leads_others_see_it_and_the_next_follows) {
  play_with_cells({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    election mine{locks, "office"};
    election theirs{others, "office"};
    EXPECT_EQ(leader_of(mine), "nobody");
    auto first = mine.campaign("first");
    EXPECT_TRUE(first.valid());
    EXPECT_EQ(leader_of(theirs), "first");
    EXPECT_EQ(theirs.leader()->fence, first.fence());
    EXPECT_FALSE(theirs.try_campaign("second"));
    EXPECT_FALSE(theirs.campaign_for("second", 50ms));
    EXPECT_EQ(leader_of(mine), "first");
    first.proclaim("first, again");
    EXPECT_EQ(leader_of(theirs), "first, again");
    std::optional<leadership> second;
    thread_group threads{stage().clock()};
    threads.start([&] { second = theirs.campaign("second"); });
    stage().sleep(50ms);
    EXPECT_FALSE(first.lost().stop_requested());
    EXPECT_EQ(first.resign(), release_result::released);
    EXPECT_FALSE(first.valid());
    threads.join();
    EXPECT_GT(second->fence(), first.fence());
    EXPECT_EQ(leader_of(mine), "second");
    EXPECT_EQ(code_of([&] { first.proclaim("still me"); }), errc::not_held);
    EXPECT_EQ(leader_of(mine), "second");
    second.reset();
    EXPECT_EQ(leader_of(mine), "nobody");
    EXPECT_EQ(mine.name().str(), "office");
    // A mutex of that name is another thing.
    mutex lock{locks, "office"};
    const auto held = lock.acquire();
    EXPECT_EQ(leader_of(mine), "nobody");
  });
}

TEST_P(electing, a_value_is_any_bytes) {
  play_with_cells([this] {
    const client locks = stage().connect();
    election office{locks, "office"};
    for (const std::string& value : {std::string{}, std::string{" a \0b\n\xff ", 8}}) {
      const auto leads = office.campaign(value);
      ASSERT_TRUE(office.leader());
      EXPECT_EQ(office.leader()->value, value);
    }
  });
}

TEST_P(electing, a_stop_ends_a_campaign) {
  play_with_cells({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    election mine{locks, "office"};
    election theirs{others, "office"};
    const auto leads = mine.campaign("first");
    std::stop_source stop;
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_EQ(code_of([&] {
                  (void)theirs.campaign("second", {.lease = {}, .stop = stop.get_token()});
                }),
                errc::cancelled);
    });
    stage().sleep(50ms);
    stop.request_stop();
    threads.join();
    EXPECT_EQ(leader_of(mine), "first");
  });
}

TEST_P(electing, a_callback_is_told_once_and_blocks_nobody) {
  play_with_cells({ability::timely}, [this] {
    const client locks = steady();
    const client others = steady();
    election mine{locks, "office"};
    election theirs{others, "office"};
    auto first = std::make_optional(mine.campaign("first"));
    std::atomic<int> called{0};
    std::mutex guard_second;
    std::optional<leadership> second;
    theirs.campaign_async(
        "too short",
        [&](campaign_result result) {
          EXPECT_FALSE(result.leadership);
          EXPECT_FALSE(result.failure);
          ++called;
        },
        {}, 50ms);
    theirs.campaign_async("second", [&](campaign_result result) {
      EXPECT_FALSE(result.failure);
      const std::lock_guard guard{guard_second};
      second = std::move(result.leadership);
      ++called;
    });
    EXPECT_TRUE(eventually([&] { return called == 1; }));
    EXPECT_EQ(leader_of(theirs), "first");
    first.reset();
    EXPECT_TRUE(eventually([&] { return called == 2; }));
    EXPECT_EQ(leader_of(mine), "second");
    const std::lock_guard guard{guard_second};
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->valid());
    second.reset();
  });
}

TEST_P(electing, observers_hear_of_every_leader_and_never_of_an_older_one) {
  play_with_cells({ability::timely}, [this] {
    constexpr int watchers = 3;
    const client locks = steady();
    election office{locks, "office"};
    std::vector<news> heard(watchers);
    std::stop_source stop;
    thread_group threads{stage().clock()};
    for (int i = 0; i < watchers; ++i) {
      threads.start([&, i] {
        const client own = steady();
        election watched{own, "office"};
        watched.observe(stop.get_token(), [&](const leader_info& who) {
          heard[static_cast<std::size_t>(i)].add(who);
        });
      });
    }
    const auto all_heard = [&](const std::string& value) {
      return eventually([&] {
        return std::all_of(heard.begin(), heard.end(),
                           [&](const news& each) { return each.has(value); });
      });
    };
    for (int term = 0; term < 5; ++term) {
      auto leads = office.campaign("term " + std::to_string(term));
      const time_point won = stage().now();
      EXPECT_TRUE(all_heard("term " + std::to_string(term)));
      const auto bounds = stage().bounds();
      EXPECT_LE(stage().now() - won, stage().traits().watches_cells ? bounds.wake_up : bounds.look);
      leads.proclaim("again " + std::to_string(term));
      EXPECT_TRUE(all_heard("again " + std::to_string(term)));
    }
    stop.request_stop();
    threads.join();
    for (const news& each : heard) {
      EXPECT_TRUE(each.in_order());
      EXPECT_EQ(each.all().size(), 10U);
    }
    // Who begins to watch when nobody leads any more hears of nobody.
    news late;
    std::stop_source soon;
    threads.start(
        [&] { office.observe(soon.get_token(), [&](const leader_info& who) { late.add(who); }); });
    stage().sleep(100ms);
    soon.request_stop();
    threads.join();
    EXPECT_TRUE(late.all().empty());
  });
}

TEST_P(electing, a_dead_leader_is_replaced_and_not_shown_beyond_its_lease) {
  play_with_cells({ability::processes}, [this] {
    const client locks = stage().connect();
    election office{locks, "office"};
    const auto leader = stage().start_process("leader", lease());
    EXPECT_TRUE(leader->say("campaign office dies 20000").starts_with("leads"));
    leader->send("govern office 600000");
    stage().sleep(lease());
    EXPECT_EQ(leader_of(office), "dies");
    leader->kill();
    const time_point killed = stage().now();
    EXPECT_TRUE(eventually([&] { return !office.leader(); }, 60s));
    EXPECT_LE(stage().now() - killed, lease() + stage().bounds().after_lease);
    const auto next = conformance::campaign(of(stage()), office, "next", 20s);
    ASSERT_TRUE(next);
    EXPECT_EQ(leader_of(office), "next");
    next->resign();
    judge();
  });
}

TEST_P(electing, a_frozen_leader_is_told_and_cannot_speak_for_its_successor) {
  play_with_cells({ability::processes}, [this] {
    const client locks = stage().connect();
    election office{locks, "office"};
    const auto frozen = stage().start_process("frozen", lease());
    EXPECT_TRUE(frozen->say("campaign office frozen 20000").starts_with("leads"));
    frozen->freeze();
    auto next = conformance::campaign(of(stage()), office, "next", 20s);
    ASSERT_TRUE(next);
    frozen->thaw();
    EXPECT_EQ(frozen->say("govern office 1000"), "lost");
    EXPECT_EQ(frozen->say("proclaim office late"),
              "error " + make_error_code(errc::lost).message());
    EXPECT_EQ(leader_of(office), "next");
    EXPECT_EQ(frozen->say("resign office"), "lost");
    EXPECT_EQ(leader_of(office), "next");
    next->resign();
    judge();
  });
}

TEST_P(electing, many_candidates_never_lead_two_at_once) {
  play_with_cells([this] {
    constexpr std::int32_t candidates = 16;
    news heard;
    std::stop_source stop;
    const client viewer = stage().connect();
    election watched{viewer, "office"};
    thread_group watching{stage().clock()};
    watching.start([&] {
      watched.observe(stop.get_token(), [&](const leader_info& who) { heard.add(who); });
    });
    {
      thread_group threads{stage().clock()};
      for (std::int32_t i = 0; i < candidates; ++i) {
        threads.start([&, i] {
          const client locks = stage().connect();
          election office{locks, "office"};
          for (int k = 0; k < 4; ++k) {
            const auto term =
                conformance::campaign(of(stage()), office, std::to_string(i), 10min, i);
            ASSERT_TRUE(term);
            term->work(1ms);
            term->resign();
          }
        });
      }
    }
    stop.request_stop();
    watching.join();
    EXPECT_TRUE(heard.in_order());
    judge();
  });
}

TEST_P(electing, with_faults_leaders_still_never_lead_two_at_once) {
  play_with_cells({ability::processes}, [this] {
    std::vector<std::unique_ptr<actor>> actors;
    for (int i = 0; i < 8; ++i) {
      actors.push_back(stage().start_process("c" + std::to_string(i), lease()));
      actors.back()->send("rule office c" + std::to_string(i) + " 6 20");
    }
    const duration step = lease() / 5;
    for (std::size_t i = 0; i < 6; ++i) {
      stage().sleep(step);
      actors[i]->freeze();
      actors[(i + 1) % 8]->cut_off();
      if (i == 2) actors[7]->kill();
      stage().sleep(i % 2 == 0 ? step : 2 * lease());
      actors[i]->thaw();
      actors[(i + 1) % 8]->heal();
    }
    for (const auto& each : actors) {
      const std::string said = each->answer();
      const bool ended = said == "dead" || said.starts_with("done") || said.starts_with("error");
      EXPECT_TRUE(ended) << said;
    }
    auto how = stage().strictness();
    how.owner_never_refused = false;  // a cut may make a client release twice
    how.calm_bound = stage().frozen_waiter_bound(lease());
    how.after_fault_bound = 3 * lease() + stage().bounds().after_lease;
    judge(how);
  });
}

}  // namespace
}  // namespace crosslock::conformance
