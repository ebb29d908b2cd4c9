// The keeper's arithmetic: deadlines, renewal times, and the heap they stand in.
#include "engine/deadline.hpp"
#include "keeper/renewal_plan.hpp"
#include "keeper/timer_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace crosslock::inner {
namespace {

using namespace std::chrono_literals;
using seam::notice_lead;
using seam::valid_until;

constexpr time_point start{100s};

TEST(deadline, counts_from_the_sending_less_one_percent_and_two_milliseconds) {
  EXPECT_EQ(valid_until(start, 30s), start + 30s - 300ms - 2ms);
  EXPECT_EQ(valid_until(start, 1s), start + 1s - 10ms - 2ms);
}

TEST(deadline, the_notice_goes_out_before_it_and_well_after_the_beginning) {
  for (const duration lease : {duration{10ms}, duration{1s}, duration{30s}, duration{24h}}) {
    EXPECT_GT(notice_lead(lease), 0ns);
    EXPECT_LE(notice_lead(lease), 10ms);
    EXPECT_GT(valid_until(start, lease) - notice_lead(lease), start);
  }
}

TEST(renewal_plan, a_lease_of_thirty_seconds_is_renewed_every_ten) {
  EXPECT_EQ(next_renewal(start, 30s), start + 10s);
}

TEST(renewal_plan, retries_come_less_often_but_many_fit_before_the_deadline) {
  const duration lease = 30s;
  time_point now = next_renewal(start, lease);
  duration last_pause{};
  int tries = 0;
  while (now < valid_until(start, lease)) {
    const time_point next = retry_renewal(now, lease, tries++);
    EXPECT_GE(next - now, last_pause);
    last_pause = next - now;
    now = next;
  }
  EXPECT_GE(tries, 10);
}

TEST(renewal_plan, what_is_nearly_due_travels_along) {
  EXPECT_TRUE(due(start, 30s, start));
  EXPECT_TRUE(due(start + 5s, 30s, start));
  EXPECT_FALSE(due(start + 5s + 1ns, 30s, start));
}

TEST(renewal_plan, one_request_never_uses_up_the_time_until_the_deadline) {
  EXPECT_EQ(renewal_give_up(start, start + 1s, 5s), start + 500ms);
  EXPECT_EQ(renewal_give_up(start, start + 1h, 5s), start + 1s);
  EXPECT_EQ(renewal_give_up(start, start + 1h, 100ms), start + 100ms);
  EXPECT_EQ(renewal_give_up(start, start - 1s, 5s), start + 5ms);
}

struct member {
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  std::size_t index = nowhere;
  int id = 0;
};
using heap = timer_heap<member, &member::index>;

TEST(timer_heap, random_pushes_moves_and_removals_keep_the_first_moment_first) {
  std::mt19937 random{7};
  heap tested;
  std::map<int, time_point> expected;
  std::map<int, std::shared_ptr<member>> members;
  for (int step = 0; step < 20'000; ++step) {
    const int id = static_cast<int>(random() % 200);
    const time_point moment = start + duration{random() % 1000};
    auto& known = members[id];
    if (!known) known = std::make_shared<member>(member{.id = id});
    const bool inside = expected.contains(id);
    if (!inside) {
      tested.push(known, moment);
      expected[id] = moment;
    } else if (random() % 2) {
      tested.move(*known, moment);
      expected[id] = moment;
    } else {
      tested.remove(*known);
      tested.remove(*known);
      expected.erase(id);
    }
    ASSERT_EQ(tested.size(), expected.size());
    if (expected.empty()) continue;
    const auto least =
        std::min_element(expected.begin(), expected.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ASSERT_EQ(tested.first_moment(), least->second);
    ASSERT_EQ(expected.at(tested.first()->id), tested.first_moment());
  }
}

TEST(timer_heap, pop_gives_the_members_in_order_and_leaves_them_nowhere) {
  heap tested;
  for (const int id : {5, 3, 9, 1, 7}) {
    tested.push(std::make_shared<member>(member{.id = id}), start + duration{id});
  }
  for (const int id : {1, 3, 5, 7, 9}) {
    const auto popped = tested.pop();
    EXPECT_EQ(popped->id, id);
    EXPECT_EQ(popped->index, member::nowhere);
  }
  EXPECT_TRUE(tested.empty());
}

}  // namespace
}  // namespace crosslock::inner
