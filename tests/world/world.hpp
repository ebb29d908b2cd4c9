// A world in which the real blocking code of the library runs unchanged, and in which one seed
// decides every step: whoever waits does so through seam::clock, and here that clock is simulated.
//
// Each simulated thread is an OS thread, but only the one that has the baton runs. It gives the
// baton up when it waits (park, alarm, join, sleep) and at its end, nowhere else, so code between
// two waits is atomic. The next to run is drawn from those that can; when none can, virtual time
// jumps to the next timeout or timed event. Nothing ever sleeps in real time.
#pragma once

#include "world/options.hpp"
#include "world/process.hpp"
#include "world/random_stream.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

namespace crosslock::world {

/// run() may be called by any thread outside a world, one at a time; several worlds may run at
/// once. Within run() everything is for simulated threads and timed events; now() is for all.
class world {
 public:
  explicit world(std::uint64_t seed, const options& options = {});
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  /// Threads that were left waiting for ever stay so, with the memory of this world.
  ~world();

  /// Runs `body` as the first thread, named "main", of the process "test" or a given one. Returns
  /// when it and all other threads that were not detached are finished. An exception that leaves
  /// a thread or an event is thrown from here, the first if there are more. Throws `stuck` with
  /// a dump of all threads when they wait for each other, and at the limits of `options`.
  void run(std::function<void()> body);
  void run(process& where, std::function<void()> body);

  process& make_process(std::string name);
  /// The process of run().
  process& test();

  time_point now() const noexcept;
  /// As process::sleep of the process the caller belongs to.
  void sleep(duration length);

  /// Runs `fn` at that moment, or at once after the next wait when it is past; events of one moment
  /// in the order they were made. `fn` must not block: it belongs to no thread, and runs on
  /// whichever OS thread has the baton, so it must not look at thread_local objects or thread ids.
  void at(time_point moment, std::function<void()> fn);
  void after(duration delay, std::function<void()> fn) { at(now() + delay, std::move(fn)); }

  /// For the faults and choices of tests; a stream of its own, which schedules do not use.
  random_stream& rng() noexcept;

  /// Keeps a line with time and thread, written with <<, when options.trace_lines is not 0.
  template <class... Parts>
  void trace(const Parts&... parts) {
    if (!tracing()) return;
    std::ostringstream line;
    (line << ... << parts);
    add_trace(line.str());
  }
  std::string trace_text() const;

  /// Waits and timed events so far.
  std::uint64_t steps() const noexcept;
  /// A hash over who ran when: equal for equal seeds and programs.
  std::uint64_t digest() const noexcept;
  /// All unfinished threads and what they wait for.
  std::string dump() const;

 private:
  struct inside;

  bool tracing() const noexcept;
  void add_trace(std::string line);

  std::unique_ptr<inside> inside_;
};

}  // namespace crosslock::world
