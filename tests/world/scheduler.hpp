// Decides which simulated thread runs, and when virtual time moves. Internal to the world.
#pragma once

#include "world/options.hpp"
#include "world/random_stream.hpp"
#include "world/task.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crosslock::world {

/// Ends the program: the world was used in a way that has no meaning.
[[noreturn]] void refuse(std::string_view what);

/// Everything here is guarded by the baton: only its owner touches it, and handing the baton over
/// orders the accesses. now() and steps() alone may be read from anywhere.
class scheduler {
 public:
  scheduler(std::uint64_t seed, const options& options);

  time_point now() const noexcept { return time_point(duration(now_.load(relaxed))); }
  std::uint64_t steps() const noexcept { return steps_.load(relaxed); }
  std::uint64_t digest() const noexcept { return digest_; }

  /// Runs `body` and all that comes of it on threads of their own. The calling thread conducts.
  void run(home& where, std::function<void()> body);
  /// Before the end of the world. True when threads are left that never get to run again: their
  /// stacks still point into the world, which must then stay in memory.
  bool abandon() noexcept;

  task& start(home& where, std::string_view name, std::function<void()> body);
  void at(time_point when, std::function<void()> fn);

  /// Gives up the baton until woken at the place or until the moment.
  void wait(const wait_at& wait);
  /// What a wait does whose reason is gone already: now and then others get the baton.
  void pass_by();
  void yield();
  void wake(const void* place) noexcept;

  /// The clock was read.
  void may_interrupt() noexcept;
  /// The simulated thread that locks or unlocks a mutex (mutexes.cpp); null for whoever is none.
  static task* locking() noexcept { return here().who; }
  bool any_interrupted() const noexcept { return interrupted_ != 0; }
  void wait_for_mutex(const void* mutex);
  void mutex_is_free(const void* mutex) noexcept;

  void join(task& target);
  void detach(task& target) noexcept;
  void pause(home& where);
  void resume(home& where) noexcept;

  /// Asserts that the caller has the baton: a simulated thread, or a timed event.
  void need_baton(std::string_view verb) const;
  /// The same, or that the world does not run yet or any more.
  void need_quiet(std::string_view verb) const;
  static const task* current() noexcept;

  random_stream& user_rng() noexcept { return user_rng_; }
  random_stream& byte_rng() noexcept { return byte_rng_; }

  bool tracing() const noexcept { return options_.trace_lines != 0; }
  void trace(std::string line);
  std::string trace_text() const;
  std::string dump(std::string_view why) const;

 private:
  struct timer {
    time_point when;
    std::uint64_t number;  ///< equal moments in the order of their making
    task* who;             ///< null: an event
    std::uint64_t wait_number;
    std::function<void()> fn;
  };
  /// Which world the calling OS thread acts in, and as whom; nobody during an event.
  struct seat {
    const scheduler* world = nullptr;
    task* who = nullptr;
  };
  class last_rites;
  static constexpr auto relaxed = std::memory_order_relaxed;

  static seat& here() noexcept;
  static void* os_thread(void* arg);
  void live(task& self);
  void finish(task& self) noexcept;

  task& self_for(std::string_view verb) const;
  void block(task& self);
  task* choose() noexcept;
  bool over();
  void fire_due();
  bool jump();
  void fire(timer& due);
  bool is_void(const timer& entry) const noexcept;
  void push_timer(timer entry);
  timer pop_timer();
  void drop_void_timers();

  void make_ready(task& woken);
  void enqueue(task& woken);
  void hand_to(task& next);
  void take_back();
  void reap() noexcept;
  void step() noexcept { steps_.store(steps() + 1, relaxed); }
  void advance_to(time_point when) noexcept;
  void mix(std::uint64_t value) noexcept;
  void fail(std::string_view why) { failure_ = dump(why); }
  void end_run();
  void note_escaped() noexcept;

  const std::uint64_t seed_;
  const options options_;
  std::atomic<duration::rep> now_;
  std::atomic<std::uint64_t> steps_{0};
  std::atomic<const task*> running_{nullptr};  ///< for the dump of a stall

  // Streams of their own, so that a test that draws once more does not change every schedule.
  random_stream pick_rng_;
  random_stream user_rng_;
  random_stream byte_rng_;
  std::uint64_t digest_;

  std::deque<task> tasks_;
  std::vector<task*> ready_;
  std::vector<task*> unreaped_;  ///< finished, OS thread not yet joined
  std::unordered_map<const void*, std::vector<task*>> waiting_;
  std::vector<timer> timers_;  ///< a heap
  std::vector<timer> late_;    ///< events that wait for interrupted threads
  std::uint64_t timer_number_ = 0;
  std::size_t void_timers_ = 0;  ///< about how many are void
  std::size_t attached_ = 0;     ///< unfinished tasks, not detached ...
  std::size_t detached_ = 0;     ///< ... and detached
  int interrupted_ = 0;          ///< threads that do not run and hold a mutex ...
  int waiting_for_mutex_ = 0;    ///< ... and that want one

  baton conductor_;
  std::atomic<bool> in_run_{false};
  bool done_ = false;  ///< this run is over, whatever is left
  std::uint64_t step_end_ = 0;
  time_point run_end_{};
  time_point drain_end_ = for_ever;
  std::string failure_;
  std::exception_ptr escaped_;
  std::deque<std::string> trace_;
};

}  // namespace crosslock::world
