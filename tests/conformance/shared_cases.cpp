// Many readers or one writer: who excludes whom, in which order they come in, and what is left of
// those who gave up, died, or lost their hold.
#include "conformance/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <shared_mutex>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class sharing : public conformance_case {
 protected:
  /// Where an engine has no shared locks the typed error is all there is to see. True then.
  bool refused_by_this_engine(const client& locks) {
    if (stage().traits().shared) return false;
    EXPECT_EQ(code_of([&] { shared_mutex lock(locks, "name"); }), errc::unsupported);
    return true;
  }

  /// Every way to hold one name.
  struct ways {
    explicit ways(const client& locks) : plain{locks, "name"}, lock{locks, "name"} {}
    std::optional<hold> try_take(int how) {
      if (how == 0) return plain.try_acquire();
      return how == 1 ? lock.try_acquire() : lock.try_acquire_shared();
    }
    static constexpr int reading = 2;

    mutex plain;
    shared_mutex lock;
  };

  static bool writer_waits(const client& locks) {
    const auto line = locks.look("name").line;
    return std::any_of(line.begin(), line.end(),
                       [](const claim_info& each) { return each.mode == claim_mode::exclusive; });
  }

  /// One critical section of a reader, by times taken outside of its calls.
  struct visit {
    time_point asked;
    time_point in;
  };

  struct outcome {
    std::vector<visit> visits;
    time_point waits = time_point::max();  ///< the writer was seen in the server's line by then
    time_point leaves{};
    duration waited{};
  };

  /// Six readers, by turns of these clients, come and go so that the name is never free; then a
  /// writer comes.
  outcome writer_among_readers(const std::vector<client>& of_readers, const client& of_writer) {
    std::mutex guard;
    outcome seen;
    std::atomic<bool> over{false};
    thread_group threads{stage().clock()};
    for (std::size_t i = 0; i < 6; ++i) {
      threads.start([&, i] {
        shared_mutex lock{of_readers[i % of_readers.size()], "name"};
        while (!over) {
          const time_point asked = stage().now();
          const hold mine = lock.acquire_shared();
          const time_point in = stage().now();
          {
            const std::lock_guard locked{guard};
            seen.visits.push_back({asked, in});
          }
          stage().sleep(3ms + i * 1ms);  // never all gone at once
        }
      });
    }
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard locked{guard};
      return seen.visits.size() > 30;
    }));
    threads.start([&] {
      shared_mutex lock{of_writer, "name"};
      const time_point asked = stage().now();
      hold mine = lock.acquire();
      seen.waited = stage().now() - asked;
      stage().sleep(5ms);
      seen.leaves = stage().now();
      mine.release();
      over = true;
    });
    while (!over && !writer_waits(of_writer)) stage().sleep(1ms);
    if (!over) seen.waits = stage().now();
    threads.join();
    return seen;
  }
};
CONFORMANCE_ON_EVERY_STAGE(sharing);

TEST_P(sharing, readers_share_and_whoever_writes_is_alone) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    ways ours{locks};
    ways same_client{locks};
    ways theirs{others};
    for (const int first : {0, 1, ways::reading}) {
      for (const int second : {0, 1, ways::reading}) {
        const bool both = first == ways::reading && second == ways::reading;
        for (ways* comer : {&ours, &same_client, &theirs}) {
          const auto held = ours.try_take(first);
          ASSERT_TRUE(held);
          const auto beside = comer->try_take(second);
          EXPECT_EQ(beside.has_value(), both) << first << " beside " << second;
          if (beside) {
            EXPECT_NE(beside->fence(), held->fence());
          }
        }
      }
    }
    EXPECT_TRUE(others.look("name").holders.empty());
  });
}

TEST_P(sharing, a_hold_says_how_it_is_held) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    EXPECT_EQ(lock.acquire().mode(), claim_mode::exclusive);
    const hold held = lock.acquire_shared();
    EXPECT_EQ(held.mode(), claim_mode::shared);
    EXPECT_EQ(locks.look("name").holders.at(0).mode, claim_mode::shared);
  });
}

TEST_P(sharing, the_standard_locks_work) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    shared_mutex second{locks, "second"};
    shared_mutex theirs{others, "name"};
    {
      std::shared_lock reads{lock};
      EXPECT_GT(lock.fence(), fence{});
      std::shared_lock beside{theirs, std::try_to_lock};
      EXPECT_TRUE(beside.owns_lock());
      std::unique_lock writes{theirs, std::defer_lock};
      EXPECT_EQ(code_of([&] { static_cast<void>(writes.try_lock()); }), errc::would_deadlock);
      beside.unlock();
      EXPECT_FALSE(writes.try_lock());
      EXPECT_FALSE(writes.try_lock_for(5ms));
      EXPECT_FALSE(writes.try_lock_until(std::chrono::system_clock::now()));
    }
    {
      const std::scoped_lock both{lock, second};
      std::shared_lock reads{theirs, std::defer_lock};
      EXPECT_FALSE(reads.try_lock());
      EXPECT_FALSE(reads.try_lock_for(5ms));
    }
    std::unique_lock writes{theirs};
    EXPECT_FALSE(lock.try_lock_shared_until(std::chrono::steady_clock::now() + 5ms));
    writes.unlock();
    EXPECT_TRUE(lock.try_lock_shared_for(-1s));  // the standard says: as if it were a try
    EXPECT_FALSE(lock.lost().stop_requested());
    lock.unlock_shared();
  });
}

TEST_P(sharing, a_thread_that_would_wait_for_itself_is_told_at_once) {
  play([this] {
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    const auto every_way_is_refused = [&] {
      EXPECT_EQ(code_of([&] { lock.lock(); }), errc::would_deadlock);
      EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::would_deadlock);
      EXPECT_EQ(code_of([&] { lock.lock_shared(); }), errc::would_deadlock);
      EXPECT_EQ(code_of([&] { (void)lock.try_lock_shared_for(1s); }), errc::would_deadlock);
    };
    lock.lock();
    every_way_is_refused();
    lock.unlock();
    lock.lock_shared();
    every_way_is_refused();
    thread_group threads{stage().clock()};
    threads.start([&] {  // another thread may read beside it
      EXPECT_TRUE(lock.try_lock_shared());
      EXPECT_NE(lock.fence(), fence{});
      lock.unlock_shared();
    });
    threads.join();
    lock.unlock_shared();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
}

TEST_P(sharing, unlocking_what_is_not_held_that_way_changes_nothing) {
  play([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    lock.unlock_shared();
    lock.lock_shared();
    lock.unlock();
    EXPECT_EQ(heard->releases(), (std::vector(2, release_result::not_held)));
    EXPECT_EQ(locks.look("name").holders.size(), 1U);
    EXPECT_EQ(code_of([&] { (void)stage().connect().look(""); }), errc::invalid_name);
    lock.unlock_shared();
    EXPECT_TRUE(locks.look("name").holders.empty());
    EXPECT_EQ(code_of([&] { (void)lock.fence(); }), errc::not_held);
  });
}

TEST_P(sharing, a_writer_enters_before_any_reader_that_came_after_it) {
  play([this] {
    std::vector<client> readers;
    for (int i = 0; i < 6; ++i) readers.push_back(stage().connect());
    const client writer = stage().connect();
    if (refused_by_this_engine(writer)) return;
    const outcome seen = writer_among_readers(readers, writer);
    EXPECT_LE(seen.waited, stage().bounds().wake_up);
    if (!stage().traits().first_come) return;
    for (const visit& each : seen.visits) {
      EXPECT_FALSE(each.asked > seen.waits && each.in < seen.leaves)
          << "a reader that came " << (each.asked - seen.waits) / 1us
          << " us after the writer got in before it";
    }
  });
}

TEST_P(sharing, a_writer_enters_among_endless_readers_that_share_a_grant) {
  play([this] {
    const client readers = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(readers)) return;
    for (const client* writer : {&others, &readers}) {
      EXPECT_LE(writer_among_readers({readers}, *writer).waited, stage().bounds().wake_up);
    }
  });
}

TEST_P(sharing, a_reader_does_not_overtake_a_waiting_writer_of_its_own_client) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto first = lock.acquire_shared();
    std::atomic<bool> in{false};
    std::atomic<bool> go{false};
    thread_group threads{stage().clock()};
    threads.start([&] {
      const hold mine = lock.acquire();
      in = true;
      EXPECT_TRUE(eventually([&] { return go.load(); }));
    });
    EXPECT_TRUE(eventually([&] { return !lock.try_acquire_shared(); }));
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(lock.try_acquire_shared());
    EXPECT_FALSE(lock.try_acquire_shared_for(20ms));
    EXPECT_FALSE(in);
    first.release();
    EXPECT_TRUE(eventually([&] { return in.load(); }));
    EXPECT_FALSE(lock.try_acquire_shared());
    EXPECT_FALSE(theirs.try_acquire_shared());
    go = true;
    threads.join();
    EXPECT_TRUE(theirs.try_acquire_shared());
  });
}

TEST_P(sharing, all_readers_that_wait_for_a_writer_come_in_together) {
  play([this] {
    constexpr int clients = 3;
    constexpr int each = 4;
    const client holder = stage().connect();
    if (refused_by_this_engine(holder)) return;
    shared_mutex held{holder, "name"};
    auto first = held.acquire();
    std::atomic<int> inside{0};
    std::mutex guard;
    std::set<fence> fences;
    thread_group threads{stage().clock()};
    for (int c = 0; c < clients; ++c) {
      const client locks = stage().connect();
      for (int t = 0; t < each; ++t) {
        threads.start([&, locks] {
          shared_mutex lock{locks, "name"};
          const hold mine = lock.acquire_shared();
          ++inside;
          EXPECT_TRUE(eventually([&] { return inside == clients * each; }));
          EXPECT_GT(mine.fence(), first.fence());
          const std::lock_guard locked{guard};
          fences.insert(mine.fence());
        });
      }
    }
    EXPECT_TRUE(eventually([&] { return holder.look("name").line.size() >= clients; }));
    EXPECT_EQ(inside, 0);
    first.release();
    threads.join();
    EXPECT_EQ(fences.size(), static_cast<std::size_t>(clients * each));
    EXPECT_GT(held.acquire().fence(), *fences.rbegin());
  });
}

TEST_P(sharing, new_readers_get_in_beside_old_ones_after_a_waiting_writer_gave_up) {
  play([this] {
    const client locks = stage().connect();
    const client writer = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    shared_mutex wanted{writer, "name"};
    shared_mutex theirs{others, "name"};
    const hold old = lock.acquire_shared();
    for (const bool by_stop : {true, false}) {
      std::stop_source stop;
      thread_group threads{stage().clock()};
      threads.start([&] {
        const duration wait = by_stop ? duration{10min} : duration{300ms};
        EXPECT_FALSE(wanted.try_acquire_for(wait, {.stop = stop.get_token()}));
      });
      EXPECT_TRUE(line_reaches(locks, "name", 1));
      threads.start([&] { EXPECT_TRUE(theirs.try_acquire_shared_for(20s)); });  // waits behind it
      if (by_stop) stop.request_stop();
      threads.join();
      // The old reader's client has heard of the writer, and must not think of it for ever.
      EXPECT_TRUE(lock.try_acquire_shared());
      EXPECT_TRUE(theirs.try_acquire_shared());
      EXPECT_TRUE(locks.look("name").line.empty());
    }
    EXPECT_TRUE(old.valid());
  });
}

TEST_P(sharing, waits_that_end_leave_nothing_behind) {
  play([this] {
    const client holder = stage().connect();
    const client locks = stage().connect();
    if (refused_by_this_engine(locks)) return;
    mutex held{holder, "name"};
    shared_mutex lock{locks, "name"};
    auto writer = held.acquire();
    EXPECT_FALSE(lock.try_acquire_shared());
    EXPECT_FALSE(lock.try_acquire_shared_for(30ms));
    EXPECT_TRUE(holder.look("name").line.empty());
    std::stop_source stop;
    std::atomic<int> empty{0};
    thread_group threads{stage().clock()};
    threads.start([&] {
      EXPECT_EQ(code_of([&] { (void)lock.acquire_shared({.stop = stop.get_token()}); }),
                errc::cancelled);
    });
    lock.acquire_shared_async([&](const acquire_result& got) { empty += got.hold ? 0 : 1; },
                              {.stop = stop.get_token()});
    EXPECT_TRUE(eventually([&] { return !holder.look("name").line.empty(); }));
    stop.request_stop();
    threads.join();
    EXPECT_TRUE(eventually([&] { return empty == 1; }));
    EXPECT_TRUE(line_reaches(holder, "name", 0));
    writer.release();
    EXPECT_TRUE(lock.try_acquire_shared());
  });
}

TEST_P(sharing, with_strict_fifo_every_reader_claims_for_itself) {
  play([this] {
    options how;
    how.strict_fifo = true;
    const client locks = stage().connect(how);
    if (refused_by_this_engine(locks)) return;
    shared_mutex lock{locks, "name"};
    const hold first = lock.acquire_shared();
    const hold second = lock.acquire_shared();
    EXPECT_EQ(locks.look("name").holders.size(), 2U);
    EXPECT_NE(first.owner(), second.owner());
  });
}

TEST_P(sharing, a_receipt_of_a_reader_keeps_the_name_shared) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    if (refused_by_this_engine(locks) || !stage().traits().outlives_process) return;
    shared_mutex lock{locks, "name"};
    shared_mutex theirs{others, "name"};
    auto held = lock.acquire_shared();
    const fence token = held.fence();
    const receipt given = held.detach();
    EXPECT_TRUE(theirs.try_acquire_shared());
    EXPECT_FALSE(theirs.try_acquire());
    auto adopted = others.adopt(receipt::parse(given.to_string()));
    EXPECT_EQ(adopted.fence(), token);
    EXPECT_EQ(adopted.mode(), claim_mode::shared);
    EXPECT_TRUE(lock.try_acquire_shared());
    EXPECT_FALSE(lock.try_acquire());
    EXPECT_EQ(code_of([&] { (void)locks.adopt(given); }), errc::lost);
    EXPECT_EQ(adopted.release(), release_result::released);
    EXPECT_TRUE(theirs.try_acquire());
  });
}

}  // namespace
}  // namespace crosslock::conformance
