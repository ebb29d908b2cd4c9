// One drives for all; whoever is not served in time, or has to drive, finds out.
#include "engine/seat.hpp"

#include "engine/guarded.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>
#include <vector>

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;
using state = passenger::state;

TEST(seat, is_one_thread_at_a_time) {
  seat one;
  EXPECT_FALSE(one.taken());
  EXPECT_TRUE(one.take());
  EXPECT_FALSE(one.take());
  one.leave();
  EXPECT_TRUE(one.take());
}

TEST(seat, who_gets_it_passed_drives_and_it_stays_taken) {
  seat one;
  passenger next;
  EXPECT_TRUE(one.take());
  EXPECT_EQ(&seat::pass_to(next), &next.word());
  EXPECT_EQ(next.now(), state::drives);
  EXPECT_TRUE(one.taken());
  EXPECT_EQ(next.ride(real_clock(), time_point::max()), state::drives);
}

TEST(seat, who_is_not_served_gives_up_in_time) {
  passenger alone;
  const time_point until = real_clock().now() + 20ms;
  EXPECT_EQ(alone.ride(real_clock(), until), state::waits);
  EXPECT_GE(real_clock().now(), until);
}

TEST(seat, who_was_served_before_it_rides_does_not_wait) {
  passenger early;
  early.serve();
  EXPECT_EQ(early.ride(real_clock(), time_point::max()), state::served);
  early.begin();
  EXPECT_EQ(early.now(), state::waits);
}

/// As an engine uses it: what gathers while one drives is done by that one or the next.
class counter {
 public:
  void add() {
    passenger mine;
    bool drives = false;
    {
      const lock_guard guard{mutex_};
      drives = seat_.take();
      if (!drives) waiting_.push_back(&mine);
    }
    if (drives || mine.ride(real_clock(), time_point::max()) == state::drives) drive();
  }
  /// Keeps the seat until so many wait for it; the first of them drives then.
  void keep_until_waited_for_by(std::size_t count) {
    park_word* next = nullptr;
    while (next == nullptr) {
      const lock_guard guard{mutex_};
      if (waiting_.size() < count) continue;
      next = &seat::pass_to(*waiting_.front());
      waiting_.pop_front();
    }
    real_clock().unpark(*next);
  }
  void take_seat() {
    const lock_guard guard{mutex_};
    EXPECT_TRUE(seat_.take());
  }
  int done = 0;      // by the one who drives
  int driving = 0;   // the same
  int together = 0;  // done for others

 private:
  void drive() {
    EXPECT_EQ(++driving, 1);
    ++done;
    std::vector<park_word*> words;
    --driving;
    {
      const lock_guard guard{mutex_};
      for (int i = 0; i < 3 && !waiting_.empty(); ++i) {
        passenger& served = *waiting_.front();
        waiting_.pop_front();
        ++done;
        ++together;
        words.push_back(&served.word());
        served.serve();
      }
      if (waiting_.empty()) {
        seat_.leave();
      } else {
        words.push_back(&seat::pass_to(*waiting_.front()));
        waiting_.pop_front();
      }
    }
    for (park_word* const word : words) real_clock().unpark(*word);
  }

  mutex mutex_;
  seat seat_;
  std::deque<passenger*> waiting_;
};

TEST(seat, serves_everybody_once) {
  constexpr int threads = 8;
  constexpr int each = 5'000;
  counter tested;
  tested.take_seat();
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        for (int n = 0; n < each; ++n) tested.add();
      });
    }
    tested.keep_until_waited_for_by(threads);
  }
  EXPECT_EQ(tested.done, threads * each);
  EXPECT_GT(tested.together, 0);
}

}  // namespace
}  // namespace crosslock::seam
