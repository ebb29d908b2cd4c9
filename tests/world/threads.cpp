// The OS threads behind the simulated ones: how they begin, end and are joined, and the thread that
// called run(), which conducts: it gets the baton when a thread ends and when the run is over.
#include "world/one_cpu.hpp"
#include "world/scheduler.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

namespace crosslock::world {

namespace {

// glibc keeps 40 MB of stacks for reuse; small ones make threads cheap. Sanitizers need room.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t stack_bytes = 4U << 20U;
#else
constexpr std::size_t stack_bytes = 512U << 10U;
#endif

}  // namespace

/// The first thread_local object of its OS thread, so the last one to be destroyed: a simulated
/// thread has the baton until the destructors of all other thread_local objects have run.
class scheduler::last_rites {
 public:
  ~last_rites() { self_->owner->finish(*self_); }
  void for_task(task& self) noexcept { self_ = &self; }

 private:
  task* self_ = nullptr;
};

scheduler::seat& scheduler::here() noexcept {
  thread_local seat place;
  return place;
}

const task* scheduler::current() noexcept { return here().who; }

void scheduler::run(home& where, std::function<void()> body) {
  if (here().world != nullptr) refuse("run() within a simulated thread");
  if (!failure_.empty()) refuse("run() of a world that is stuck");
  const one_cpu pinned;
  in_run_ = true;
  here() = {this, nullptr};
  done_ = false;
  drain_end_ = for_ever;
  step_end_ = steps() + options_.step_limit;
  run_end_ = now() + options_.time_limit;
  start(where, "main", std::move(body));
  while (task* next = choose()) {
    hand_to(*next);
    take_back();
  }
  end_run();
}

void scheduler::end_run() {
  reap();
  here() = {};
  in_run_ = false;
  if (escaped_) {
    // The first failure is the cause; what it left behind is only worth a look.
    if (!failure_.empty()) std::fprintf(stderr, "%s", failure_.c_str());
    std::rethrow_exception(std::exchange(escaped_, nullptr));
  }
  if (!failure_.empty()) throw stuck(failure_);
}

bool scheduler::abandon() noexcept {
  bool any = false;
  for (task& each : tasks_) {
    if (each.state == task_state::finished) continue;
    if (each.os_started) pthread_detach(each.os);
    any = true;
  }
  return any;
}

void scheduler::hand_to(task& next) {
  if (next.os_started) {
    next.go.give();
    return;
  }
  next.os_started = true;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  const int result = pthread_create(&next.os, &attributes, &os_thread, &next);
  pthread_attr_destroy(&attributes);
  if (result != 0) refuse(std::string("cannot start a thread: ") + std::strerror(result));
}

void* scheduler::os_thread(void* arg) {
  thread_local last_rites rites;
  task& self = *static_cast<task*>(arg);
  rites.for_task(self);
  self.owner->live(self);
  return nullptr;
}

void scheduler::live(task& self) {
  here() = {this, &self};
  // For the reports of sanitizers and debuggers.
  pthread_setname_np(pthread_self(), self.name.substr(0, 15).c_str());
  try {
    // What the body owns is destroyed here, while this thread still counts as running.
    const std::function<void()> body = std::exchange(self.body, nullptr);
    body();
  } catch (...) {
    note_escaped();
  }
}

void scheduler::finish(task& self) noexcept {
  self.state = task_state::finished;
  --(self.detached ? detached_ : attached_);
  unreaped_.push_back(&self);
  wake(&self);
  // Timed events must not run on this thread, whose thread_local objects are gone.
  conductor_.give();
}

void scheduler::note_escaped() noexcept {
  if (!escaped_) escaped_ = std::current_exception();
}

void scheduler::take_back() {
  std::uint64_t seen = steps();
  int idle_s = 0;
  while (!conductor_.take_within(1)) {
    idle_s = std::exchange(seen, steps()) == seen ? idle_s + 1 : 0;
    if (options_.stall_limit_s == 0 || idle_s < options_.stall_limit_s) continue;
    // The baton is elsewhere, so this dump may be torn; it is the last thing the program does.
    refuse(dump("the running thread does not come back; does it block outside the seam?"));
  }
}

void scheduler::join(task& target) {
  task& self = self_for("join");
  if (&self == &target) refuse("a thread joins itself");
  if (target.state == task_state::finished) {
    pass_by();
  } else {
    wait({wait_kind::join, &target, for_ever, 0, &target});
  }
  // It has given up the baton for good and needs nobody any more: this is short.
  if (!std::exchange(target.os_joined, true)) pthread_join(target.os, nullptr);
}

void scheduler::detach(task& target) noexcept {
  need_baton("detach");
  if (std::exchange(target.detached, true) || target.state == task_state::finished) return;
  --attached_;
  ++detached_;
}

void scheduler::reap() noexcept {
  for (task* each : std::exchange(unreaped_, {})) {
    if (!std::exchange(each->os_joined, true)) pthread_join(each->os, nullptr);
  }
}

}  // namespace crosslock::world
