// Who runs next. A thread that gives up the baton makes this choice itself, and fires the events
// that are due; when the choice falls on it again, a wait costs no switch of OS threads at all.
#include "world/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::world {

namespace {

// Not zero, so that code which takes a zero time point for "unset" is noticed only where it should
// be, and moments before the start can be written down.
constexpr duration start_of_time = std::chrono::seconds(1000);

constexpr double pass_by_chance = 0.25;
constexpr duration spurious_max = std::chrono::milliseconds(1);

constexpr auto later = [](const auto& a, const auto& b) {
  return a.when != b.when ? a.when > b.when : a.number > b.number;
};

}  // namespace

scheduler::scheduler(std::uint64_t seed, const options& options)
    : seed_(seed),
      options_(options),
      now_(start_of_time.count()),
      pick_rng_(seed),
      user_rng_(seed ^ 0x75736572U),
      byte_rng_(seed ^ 0x62797465U),
      digest_(0xcbf29ce484222325U) {}

task& scheduler::start(home& where, std::string_view name, std::function<void()> body) {
  need_baton("start");
  if (unreaped_.size() > 64) reap();
  task& made = tasks_.emplace_back(tasks_.size() + 1, std::string(name), where, std::move(body));
  made.owner = this;
  ++attached_;
  enqueue(made);
  return made;
}

void scheduler::at(time_point when, std::function<void()> fn) {
  need_quiet("at");
  push_timer({when, 0, nullptr, 0, std::move(fn)});
}

void scheduler::wait(const wait_at& wait) {
  task& self = self_for("a wait");
  step();
  time_point until = wait.until;
  if (wait.kind == wait_kind::park && pick_rng_.chance(options_.spurious)) {
    until = std::min(until, now() + pick_rng_.uniform(duration::zero(), spurious_max));
  }
  self.state = task_state::waiting;
  self.wait = wait;
  self.since = now();
  ++self.wait_number;
  if (wait.place != nullptr) waiting_[wait.place].push_back(&self);
  if (until != for_ever) push_timer({until, 0, &self, self.wait_number, nullptr});
  self.wait.until = until;
  block(self);
}

void scheduler::pass_by() {
  self_for("a wait");
  if (pick_rng_.chance(pass_by_chance)) {
    yield();
  } else {
    step();
    // A loop that never waits must reach the step limit too.
    if (steps() > step_end_) yield();
  }
}

void scheduler::yield() {
  task& self = self_for("a wait");
  step();
  enqueue(self);
  block(self);
}

void scheduler::wake(const void* place) noexcept {
  const auto found = waiting_.find(place);
  if (found == waiting_.end()) return;
  const std::vector<task*> woken = std::move(found->second);
  waiting_.erase(found);
  for (task* each : woken) {
    if (each->wait.until != for_ever) ++void_timers_;
    make_ready(*each);
  }
}

void scheduler::pause(home& where) {
  need_baton("pause");
  // Who holds a mutex would keep the whole world waiting: a moment later is as good.
  while (where.interrupted > 0) {
    wait({wait_kind::sleep, nullptr, now() + std::chrono::microseconds(1), 0, nullptr});
  }
  if (where.paused || !where.alive) return;
  where.paused = true;
  const auto belongs = [&](const task* each) { return &each->where == &where; };
  const auto first = std::stable_partition(ready_.begin(), ready_.end(), std::not_fn(belongs));
  for (auto each = first; each != ready_.end(); ++each) (*each)->state = task_state::held;
  where.held.insert(where.held.end(), first, ready_.end());
  ready_.erase(first, ready_.end());
  // As with SIGSTOP to oneself: the next statement runs after the resume.
  if (task* self = here().who; self != nullptr && belongs(self)) yield();
}

void scheduler::resume(home& where) noexcept {
  need_baton("resume");
  if (!std::exchange(where.paused, false)) return;
  for (task* each : std::exchange(where.held, {})) enqueue(*each);
}

void scheduler::block(task& self) {
  // Where nobody is interrupted, whoever waits with a mutex does so on purpose, and for news that
  // timed events bring.
  const int holds = options_.interrupted > 0 && self.mutexes > 0 ? 1 : 0;
  interrupted_ += holds;
  self.where.interrupted += holds;
  task* next = choose();
  if (next != &self) {
    if (next != nullptr) {
      hand_to(*next);
    } else {
      conductor_.give();
    }
    self.go.take();
  }
  interrupted_ -= holds;
  self.where.interrupted -= holds;
}

task* scheduler::choose() noexcept {
  for (;;) {
    if (over()) return nullptr;
    fire_due();
    if (steps() > step_end_) {
      fail("step limit reached");
      return nullptr;
    }
    if (!ready_.empty()) break;
    if (!jump()) return nullptr;
  }
  const auto index = pick_rng_.below(ready_.size());
  std::swap(ready_[index], ready_.back());
  task& next = *ready_.back();
  ready_.pop_back();
  next.state = task_state::running;
  running_.store(&next, relaxed);
  if (options_.drift_max > duration::zero()) {
    advance_to(now() + pick_rng_.uniform(duration::zero(), options_.drift_max));
  }
  mix(next.id);
  return &next;
}

bool scheduler::over() {
  if (done_ || !failure_.empty()) return true;
  if (now() > run_end_) {
    fail("time limit reached");
    return true;
  }
  if (attached_ != 0) {
    drain_end_ = for_ever;
    return false;
  }
  if (drain_end_ == for_ever) drain_end_ = now() + options_.drain_limit;
  done_ = detached_ == 0 || now() >= drain_end_;
  return done_;
}

void scheduler::fire_due() {
  if (interrupted_ == 0) {
    for (timer& each : std::exchange(late_, {})) fire(each);
  }
  while (!timers_.empty() && timers_.front().when <= now() && steps() <= step_end_) {
    timer due = pop_timer();
    if (due.who == nullptr && interrupted_ != 0) {
      late_.push_back(std::move(due));
    } else {
      fire(due);
    }
  }
}

// Nobody can run: on to the next moment at which something happens.
bool scheduler::jump() {
  while (!timers_.empty() && is_void(timers_.front())) pop_timer();
  if (attached_ == 0 && (timers_.empty() || timers_.front().when > drain_end_)) {
    done_ = true;
  } else if (timers_.empty()) {
    fail("deadlock");
  } else if (timers_.front().when > run_end_) {
    fail("time limit reached");
  } else {
    advance_to(timers_.front().when);
    return true;
  }
  return false;
}

void scheduler::fire(timer& due) {
  if (due.who == nullptr) {
    step();
    mix(due.number);
    // The event runs on whichever OS thread is here, but as nobody: it must not block, and
    // is_current() is false for every thread.
    const seat before = std::exchange(here(), seat{this, nullptr});
    try {
      due.fn();
      due.fn = nullptr;
    } catch (...) {
      note_escaped();
    }
    here() = before;
  } else if (is_void(due)) {
    return;
  } else if (due.who->state == task_state::delayed) {
    enqueue(*due.who);
  } else {
    task& woken = *due.who;
    if (const auto found = waiting_.find(woken.wait.place); found != waiting_.end()) {
      std::erase(found->second, &woken);
      if (found->second.empty()) waiting_.erase(found);
    }
    make_ready(woken);
  }
}

void scheduler::make_ready(task& woken) {
  ++woken.wait_number;
  const duration delay = pick_rng_.uniform(duration::zero(), woken.where.wake_delay);
  if (delay == duration::zero()) {
    enqueue(woken);
  } else {
    woken.state = task_state::delayed;
    push_timer({now() + delay, 0, &woken, woken.wait_number, nullptr});
  }
}

void scheduler::enqueue(task& woken) {
  ++woken.wait_number;
  woken.since = now();
  woken.state = woken.where.paused ? task_state::held : task_state::ready;
  (woken.where.paused ? woken.where.held : ready_).push_back(&woken);
}

bool scheduler::is_void(const timer& entry) const noexcept {
  return entry.who != nullptr && entry.who->wait_number != entry.wait_number;
}

void scheduler::push_timer(timer entry) {
  if (void_timers_ > 64 && void_timers_ > timers_.size() / 2) drop_void_timers();
  entry.number = ++timer_number_;
  timers_.push_back(std::move(entry));
  std::push_heap(timers_.begin(), timers_.end(), later);
}

scheduler::timer scheduler::pop_timer() {
  std::pop_heap(timers_.begin(), timers_.end(), later);
  timer entry = std::move(timers_.back());
  timers_.pop_back();
  if (void_timers_ != 0 && is_void(entry)) --void_timers_;
  return entry;
}

void scheduler::drop_void_timers() {
  std::erase_if(timers_, [this](const timer& entry) { return is_void(entry); });
  std::make_heap(timers_.begin(), timers_.end(), later);
  void_timers_ = 0;
}

void scheduler::advance_to(time_point when) noexcept {
  now_.store(when.time_since_epoch().count(), relaxed);
}

void scheduler::mix(std::uint64_t value) noexcept {
  const auto moment = static_cast<std::uint64_t>(now().time_since_epoch().count());
  for (const std::uint64_t part : {value, moment}) {
    digest_ = (digest_ ^ part) * 0x9e3779b97f4a7c15U;
    digest_ ^= digest_ >> 32U;
  }
}

}  // namespace crosslock::world
