// The public face; the work is done by the scheduler.
#include "world/world.hpp"

#include "world/scheduler.hpp"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace crosslock::world {

struct world::inside {
  inside(std::uint64_t seed, const options& options) : sched(seed, options) {}

  scheduler sched;
  std::deque<process> processes;
};

world::world(std::uint64_t seed, const options& options)
    : inside_(std::make_unique<inside>(seed, options)) {
  make_process("test");
}

world::~world() {
  if (!inside_->sched.abandon()) return;
  // Never destroyed, so that the leak sanitizer finds the worlds and nobody frees them at exit.
  static std::mutex guard;
  static auto& graveyard = *new std::vector<std::unique_ptr<inside>>;
  const std::lock_guard locked(guard);
  graveyard.push_back(std::move(inside_));
}

void world::run(std::function<void()> body) { run(test(), std::move(body)); }

void world::run(process& where, std::function<void()> body) {
  inside_->sched.run(where.home_, std::move(body));
}

process& world::make_process(std::string name) {
  inside_->sched.need_quiet("make_process");
  return inside_->processes.emplace_back(inside_->sched, std::move(name));
}

process& world::test() { return inside_->processes.front(); }

time_point world::now() const noexcept { return inside_->sched.now(); }

void world::sleep(duration length) { test().sleep(length); }

void world::at(time_point moment, std::function<void()> fn) {
  inside_->sched.at(moment, std::move(fn));
}

random_stream& world::rng() noexcept { return inside_->sched.user_rng(); }

std::string world::trace_text() const { return inside_->sched.trace_text(); }

std::uint64_t world::steps() const noexcept { return inside_->sched.steps(); }

std::uint64_t world::digest() const noexcept { return inside_->sched.digest(); }

std::string world::dump() const { return inside_->sched.dump("asked for a dump"); }

bool world::tracing() const noexcept { return inside_->sched.tracing(); }

void world::add_trace(std::string line) { inside_->sched.trace(std::move(line)); }

}  // namespace crosslock::world
