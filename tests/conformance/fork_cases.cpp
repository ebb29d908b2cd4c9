// F24: a forked child gets a clear error from everything it inherited, whatever it does with it,
// and its parent notices nothing. Children check for themselves and tell by their exit code.
#include "conformance/fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#ifdef __SANITIZE_THREAD__
constexpr bool children_may_start_threads = false;  // the sanitizer cannot follow them
#else
constexpr bool children_may_start_threads = true;
#endif

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;

constexpr int well = 0;
constexpr unsigned patience_s = 60;

/// What the child is left with when it has nothing better to do.
[[noreturn]] void leave(int code) { ::_exit(code); }

class forking : public conformance_case {
 public:
  /// Everything a program may have in hand when it forks.
  struct belongings {
    explicit belongings(const client& given)
        : locks{given},
          held{std::make_unique<mutex>(locks, "held")},
          nested{std::make_unique<recursive_mutex>(locks, "nested")},
          free{std::make_unique<mutex>(locks, "free")},
          kept{held->acquire()} {
      nested->lock();
      nested->lock();
    }
    client locks;
    std::unique_ptr<mutex> held;
    std::unique_ptr<recursive_mutex> nested;
    std::unique_ptr<mutex> free;
    std::optional<hold> kept;
  };

 protected:
  /// Runs `body` in a forked child and returns its exit code; a child that hangs is killed.
  template <class Body>
  static int in_child(Body&& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(patience_s);
      leave(body());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// Forks while holding; afterwards the parent still holds everything.
  template <class Body>
  void fork_while_holding(Body&& body) {
    const auto heard = std::make_shared<listener>();
    const client viewer = stage().connect();
    belongings mine{heard_by(heard)};
    EXPECT_EQ(in_child([&] { return body(mine); }), well);
    EXPECT_TRUE(mine.kept->valid());
    EXPECT_EQ(mine.nested->depth(), 2U);
    EXPECT_FALSE(mine.nested->lost().stop_requested());
    EXPECT_EQ(viewer.look("held").holders.at(0).owner, mine.kept->owner());
    EXPECT_EQ(viewer.look("nested").holders.size(), 1U);
    EXPECT_TRUE(mine.free->try_lock());
    mine.free->unlock();
    EXPECT_EQ(mine.kept->release(), release_result::released);
    mine.nested->unlock();
    mine.nested->unlock();
    EXPECT_TRUE(viewer.list().empty());
    EXPECT_TRUE(heard->losses().empty());
  }
};
CONFORMANCE_ON_EVERY_STAGE(forking);

/// The number of the first thing that does not fail as it should; 0 when all do.
int use_everything(forking::belongings& mine);

TEST_P(forking, everything_the_child_touches_says_forked) {
  play({ability::fork}, [this] { fork_while_holding(use_everything); });
}

TEST_P(forking, a_child_that_uses_another_lock_is_told) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings& mine) {
      return code_of([&] { mine.free->lock(); }) == errc::forked ? well : 1;
    });
  });
}

TEST_P(forking, a_child_that_unlocks_frees_nothing) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings& mine) {
      mine.held->unlock();
      for (int i = 0; i < 3; ++i) mine.nested->unlock();
      return mine.kept->release() == release_result::not_held ? well : 1;
    });
  });
}

TEST_P(forking, a_child_that_destroys_locks_holds_and_clients_frees_nothing) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings& mine) {
      mine.kept.reset();
      mine.held.reset();
      mine.nested.reset();
      mine.free.reset();
      mine.locks = client{nullptr};
      return well;
    });
  });
}

TEST_P(forking, a_child_that_closes_the_client_closes_nothing) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings& mine) {
      mine.locks.close();
      return well;
    });
  });
}

TEST_P(forking, a_child_that_exits_with_all_its_destructors_frees_nothing) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings& mine) {
      static std::optional<hold> until_exit;  // destroyed by exit()
      until_exit = std::move(mine.kept);
      std::exit(well);
      return 1;
    });
  });
}

TEST_P(forking, a_child_that_executes_another_program_frees_nothing) {
  play({ability::fork}, [this] {
    fork_while_holding([](belongings&) {
      ::execl("/bin/true", "true", nullptr);
      return 1;
    });
  });
}

TEST_P(forking, a_child_may_connect_anew_where_that_is_promised) {
  play({ability::fork}, [this] {
    fork_while_holding([this](belongings&) {
      if (!stage().traits().works_after_fork) {
        return code_of([&] { (void)stage().connect(); }) == errc::forked ? well : 3;
      }
      if (!children_may_start_threads) return well;  // some engines start one to connect
      const client own = stage().connect();
      if (!own.look("the child's own").holders.empty()) return 2;
      mutex lock{own, "the child's own"};
      const auto held = lock.try_acquire();
      return held && held->valid() ? well : 1;
    });
  });
}

TEST_P(forking, the_parent_goes_on_renewing) {
  play({ability::fork}, [this] {
    const auto heard = std::make_shared<listener>();
    options how;
    how.lease = 9s;  // a busy machine may stop us for seconds
    belongings mine{heard_by(heard, how)};
    EXPECT_EQ(in_child([&] {
                const int code = use_everything(mine);
                mine.kept.reset();
                mine.locks = client{nullptr};
                return code;
              }),
              well);
    const time_point before = mine.kept->expires_at();
    EXPECT_TRUE(eventually([&] { return mine.kept->expires_at() > before; }));
    EXPECT_TRUE(mine.kept->valid());
  });
}

TEST_P(forking, a_grandchild_is_told_too) {
  play({ability::fork}, [this] {
    fork_while_holding(
        [](belongings& mine) { return in_child([&] { return use_everything(mine); }); });
  });
}

TEST_P(forking, a_fork_amid_the_work_of_other_threads_leaves_no_child_stuck) {
  play({ability::fork}, [this] {
    const client locks = stage().connect();
    mutex plain{locks, "plain"};
    recursive_mutex nested{locks, "nested"};
    std::atomic<bool> over{false};
    std::atomic<int> rounds{0};
    thread_group threads{stage().clock()};
    for (int t = 0; t < 4; ++t) {
      threads.start([&] {
        while (!over) {
          const std::scoped_lock both{plain, nested};
          mutex own{locks, "own"};
          (void)own.try_lock();
          ++rounds;
        }
      });
    }
    // Few, because std::lock lets go and tries again as often as it meets another in the middle:
    // where every try is a round trip over a network that goes on for a while.
    EXPECT_TRUE(eventually([&] { return rounds > 20; }));
    for (int i = 0; i < 100; ++i) {
      const int code = in_child([&] {
        if (code_of([&] { plain.lock(); }) != errc::forked) return 1;
        if (code_of([&] { nested.lock(); }) != errc::forked) return 2;
        if (nested.depth() != 0) return 3;
        plain.unlock();
        nested.unlock();
        if (code_of([&] { mutex{locks, "own"}; }) != errc::forked) return 4;
        const client gone = std::move(const_cast<client&>(locks));
        return well;
      });
      EXPECT_EQ(code, well);
      if (code != well) break;
    }
    over = true;
  });
}

int use_everything(forking::belongings& mine) {
  const receipt given{.engine = std::string{mine.locks.engine()},
                      .name = lock_name{"held"},
                      .owner = mine.kept->owner(),
                      .fence = mine.kept->fence()};
  const std::vector<std::function<void()>> calls{
      [&] { mine.held->lock(); },
      [&] { (void)mine.held->try_lock(); },
      [&] { (void)mine.held->try_acquire_for(1s); },
      [&] { mine.held->acquire_async([](const acquire_result&) {}); },
      [&] { (void)mine.held->fence(); },
      [&] { (void)mine.held->lost(); },
      [&] { mine.nested->lock(); },
      [&] { (void)mine.nested->try_lock(); },
      [&] { (void)mine.nested->fence(); },
      [&] { (void)mine.nested->lost(); },
      [&] { mine.free->lock(); },
      [&] {
        mutex{mine.locks, "new"};
      },
      [&] {
        recursive_mutex{mine.locks, "new"};
      },
      [&] { (void)mine.locks.look("held"); },
      [&] { (void)mine.locks.list(); },
      [&] { (void)mine.locks.break_lock("held", mine.kept->owner()); },
      [&] { mine.locks.run("held", [] {}); },
      [&] { (void)mine.locks.try_run("held", [] {}); },
      [&] { (void)mine.locks.adopt(given); },
      [&] { mine.kept->check(); },
      [&] { (void)mine.kept->detach(); },
  };
  int number = 0;
  for (const auto& call : calls) {
    ++number;
    if (code_of(call) != errc::forked) return number;
  }
  if (mine.kept->valid()) return ++number;
  return well;
}

TEST_P(forking, what_rests_on_cells_refuses_in_the_child_and_goes_on_in_the_parent) {
  play({ability::fork}, [this] {
    if (!stage().traits().cells || !stage().traits().shared) return;
    const client locks = stage().connect();
    versioned value{locks, "value"};
    fenced_register stock{locks, "stock"};
    count_down_latch latch{locks, "latch", 2};
    election office{locks, "office"};
    auto gate = std::make_unique<barrier>(locks, "gate", 1);
    auto leads = std::make_optional(office.campaign("parent"));
    gate->enter();
    const int code = in_child([&] {
      const std::vector<std::function<void()>> calls{
          [&] { (void)value.read(); },
          [&] { (void)value.compare_and_set(0, "child"); },
          [&] { (void)stock.open(fence{1}); },
          [&] { (void)stock.write(fence{1}, "child"); },
          [&] { latch.count_down(); },
          [&] { latch.wait(); },
          [&] { gate->leave(); },
          [&] { (void)office.leader(); },
          [&] { (void)office.try_campaign("child"); },
          [&] { office.observe({}, [](const leader_info&) {}); },
          [&] { leads->proclaim("child"); }};
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (code_of(calls[i]) != errc::forked) return static_cast<int>(i) + 1;
      }
      gate.reset();
      leads.reset();
      return well;
    });
    EXPECT_EQ(code, well);
    EXPECT_EQ(office.leader().value_or(leader_info{}).value, "parent");
    leads->proclaim("still the parent");
    gate->leave();
    latch.count_down(2);
    EXPECT_TRUE(latch.try_wait());
    EXPECT_EQ(value.read().version, 0U);
  });
}

}  // namespace
}  // namespace crosslock::conformance
