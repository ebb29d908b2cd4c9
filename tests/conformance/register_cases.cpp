// A value that refuses an older fence: what a frozen holder writes late leaves no trace.
#include "conformance/fixture.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

class fenced_value : public conformance_case {
 protected:
  void play_with_cells(std::initializer_list<ability> needs, const std::function<void()>& body) {
    play(needs, [&] {
      if (stage().traits().cells) return body();
      const client locks = stage().connect();
      EXPECT_EQ(code_of([&] { fenced_register(locks, "value"); }), errc::unsupported);
    });
  }
  void play_with_cells(const std::function<void()>& body) { play_with_cells({}, body); }
};
CONFORMANCE_ON_EVERY_STAGE(fenced_value);

TEST_P(fenced_value, a_newer_fence_shuts_out_the_older_one_and_the_observer_hears_it) {
  play_with_cells([this] {
    const auto heard = std::make_shared<listener>();
    const client locks = heard_by(heard);
    mutex lock{locks, "stock"};
    fenced_register stock{locks, "stock"};
    const fence older = lock.acquire().fence();
    auto newer = lock.acquire();
    EXPECT_EQ(stock.open(older), "");
    EXPECT_TRUE(stock.write(older, "by the older"));
    EXPECT_EQ(stock.open(newer), "by the older");
    EXPECT_TRUE(heard->rejected().empty());
    EXPECT_FALSE(stock.write(older, "too late"));
    EXPECT_FALSE(stock.open(older));
    const std::pair refused{older, newer.fence()};
    EXPECT_EQ(heard->rejected(), (std::vector{refused, refused}));
    // An object that has seen nothing yet.
    fenced_register fresh{locks, "stock"};
    EXPECT_FALSE(fresh.write(older, "too late"));
    EXPECT_EQ(heard->rejected().size(), 3U);
    EXPECT_TRUE(fresh.write(newer, "by the newer"));
    EXPECT_TRUE(stock.write(newer, "and again"));  // although it expects another version
    EXPECT_EQ(stock.read().value, "and again");
    EXPECT_EQ(stock.read().fence, newer.fence());
  });
}

TEST_P(fenced_value, threads_of_one_hold_write_side_by_side) {
  play_with_cells([this] {
    const client locks = stage().connect();
    mutex lock{locks, "stock"};
    const auto held = lock.acquire();
    std::atomic<int> accepted{0};
    {
      thread_group threads{stage().clock()};
      for (int i = 0; i < 8; ++i) {
        threads.start([&, i] {
          fenced_register stock{locks, "stock"};
          for (int k = 0; k < 10; ++k) {
            if (stock.write(held.fence(), std::to_string(100 * i + k))) ++accepted;
          }
        });
      }
    }
    EXPECT_EQ(accepted, 80);
    EXPECT_EQ(std::stoi(fenced_register(locks, "stock").read().value) % 100, 9);
  });
}

TEST_P(fenced_value, only_fences_of_exclusive_holds_are_taken) {
  play_with_cells([this] {
    const client locks = stage().connect();
    fenced_register stock{locks, "stock"};
    EXPECT_EQ(code_of([&] { (void)stock.open(fence{}); }), errc::conflict);
    EXPECT_EQ(code_of([&] { (void)stock.write(fence{}, "x"); }), errc::conflict);
    mutex plain{locks, "plain"};
    auto moved = plain.acquire();
    const auto held = std::move(moved);
    EXPECT_EQ(code_of([&] { (void)stock.write(moved, "x"); }), errc::not_held);
    if (stage().traits().shared) {
      shared_mutex lock{locks, "stock"};
      const auto reader = lock.acquire_shared();
      EXPECT_EQ(code_of([&] { (void)stock.open(reader); }), errc::conflict);
      EXPECT_EQ(code_of([&] { (void)stock.write(reader, "x"); }), errc::conflict);
    }
    if (stage().traits().permits) {
      semaphore lock{locks, "permits", 2};
      const auto permit = lock.acquire();
      EXPECT_EQ(code_of([&] { (void)stock.write(permit, "x"); }), errc::conflict);
    }
    EXPECT_EQ(stock.read().value, "");
    EXPECT_EQ(stock.read().fence, fence{});
    EXPECT_TRUE(stock.write(held, "x"));
    versioned same{locks, "stock"};
    EXPECT_EQ(same.read().value, "x");
    EXPECT_EQ(code_of([&] { same.update([](const std::string&) { return "y"; }); }),
              errc::conflict);
    EXPECT_EQ(code_of([&] { (void)same.compare_and_set(same.read().version, "y"); }),
              errc::conflict);
  });
}

TEST_P(fenced_value, late_writes_of_frozen_holders_are_refused) {
  play_with_cells({ability::processes}, [this] {
    const client locks = stage().connect();
    mutex lock{locks, "stock"};
    fenced_register stock{locks, "stock"};
    int refused = 0;
    for (int round = 0; round < 3; ++round) {
      const auto frozen = stage().start_process("frozen", lease());
      EXPECT_TRUE(frozen->say("acquire stock 20000").starts_with("held"));
      EXPECT_EQ(frozen->say("inscribe stock in-time stock"), "accepted");
      frozen->freeze();
      frozen->send("inscribe stock too-late stock");
      {
        const auto held = lock.acquire();
        EXPECT_EQ(stock.open(held), "in-time");
        EXPECT_TRUE(stock.write(held, "by the next"));
        frozen->thaw();
        if (frozen->answer() == "refused") ++refused;
      }
      EXPECT_EQ(stock.read().value, "by the next");
    }
    EXPECT_EQ(refused, 3);
  });
}

TEST_P(fenced_value, a_write_whose_answer_was_lost_is_done_once) {
  play_with_cells({ability::server_faults}, [this] {
    options how;
    how.timeout = 1s;
    const client locks = stage().connect(how);
    mutex lock{locks, "stock"};
    fenced_register stock{locks, "stock"};
    const auto held = lock.acquire();
    EXPECT_TRUE(stock.write(held, "first"));
    stage().lose_next_answer(observer::verb::swap_cell);
    EXPECT_TRUE(stock.write(held, "second"));
    stage().lose_next_answer(observer::verb::open_cell);
    EXPECT_EQ(stock.open(held), "second");
  });
}

}  // namespace
}  // namespace crosslock::conformance
