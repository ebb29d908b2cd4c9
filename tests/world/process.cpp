// Every call is checked for the baton first, so that a test which uses the world from outside
// fails with a message instead of a data race.
#include "world/process.hpp"

#include "world/scheduler.hpp"

#include <utility>

namespace crosslock::world {

namespace {

class simulated_alarm final : public seam::alarm {
 public:
  explicit simulated_alarm(scheduler& scheduler) : scheduler_(scheduler) {}

  void wait_until(time_point moment) override {
    scheduler_.need_baton("wait_until");
    if (rung_ || moment <= scheduler_.now()) {
      rung_ = false;
      scheduler_.pass_by();
    } else {
      scheduler_.wait({wait_kind::alarm, this, moment, 0, nullptr});
      rung_ = false;
    }
  }

  void ring() noexcept override {
    scheduler_.need_baton("ring");
    rung_ = true;
    scheduler_.wake(this);
  }

 private:
  scheduler& scheduler_;
  bool rung_ = false;
};

class simulated_thread final : public seam::thread {
 public:
  simulated_thread(scheduler& scheduler, task& task) : scheduler_(scheduler), task_(task) {}
  ~simulated_thread() override {
    if (!joined_or_detached_) refuse("thread " + task_.name + " was neither joined nor detached");
  }

  void join() override {
    if (joined_or_detached_) refuse("thread " + task_.name + " is joined after join or detach");
    scheduler_.join(task_);
    joined_or_detached_ = true;
  }

  void detach() noexcept override {
    scheduler_.detach(task_);
    joined_or_detached_ = true;
  }

  bool is_current() const noexcept override { return scheduler::current() == &task_; }

 private:
  scheduler& scheduler_;
  task& task_;
  bool joined_or_detached_ = false;
};

}  // namespace

process::process(scheduler& scheduler, std::string name) : scheduler_(scheduler) {
  home_.name = std::move(name);
}

process::~process() = default;

time_point process::now() const noexcept {
  scheduler_.may_interrupt();
  return scheduler_.now();
}

void process::park(seam::park_word& word, std::uint32_t expected, time_point until) {
  scheduler_.need_baton("park");
  if (word.load() != expected || until <= now()) {
    scheduler_.pass_by();
  } else {
    scheduler_.wait({wait_kind::park, &word, until, expected, nullptr});
  }
}

void process::unpark(seam::park_word& word) noexcept {
  scheduler_.need_baton("unpark");
  scheduler_.wake(&word);
}

std::unique_ptr<seam::alarm> process::make_alarm() {
  scheduler_.need_baton("make_alarm");
  return std::make_unique<simulated_alarm>(scheduler_);
}

std::unique_ptr<seam::thread> process::start(std::string_view name, std::function<void()> body) {
  task& made = scheduler_.start(home_, name, std::move(body));
  return std::make_unique<simulated_thread>(scheduler_, made);
}

void process::fill_random(std::span<std::uint8_t> bytes) {
  scheduler_.need_baton("fill_random");
  for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(scheduler_.byte_rng()() >> 56U);
}

void process::sleep(duration length) {
  if (length <= duration::zero()) {
    scheduler_.yield();
  } else {
    const time_point until = length < for_ever - now() ? now() + length : for_ever;
    scheduler_.wait({wait_kind::sleep, nullptr, until, 0, nullptr});
  }
}

void process::pause() { scheduler_.pause(home_); }

void process::resume() noexcept { scheduler_.resume(home_); }

void process::kill() {
  scheduler_.need_baton("kill");
  if (!std::exchange(home_.alive, false)) return;
  scheduler_.resume(home_);
  for (const auto& hook : std::exchange(kill_hooks_, {})) hook();
}

void process::on_kill(std::function<void()> hook) {
  scheduler_.need_quiet("on_kill");
  if (!home_.alive) {
    hook();
  } else {
    kill_hooks_.push_back(std::move(hook));
  }
}

}  // namespace crosslock::world
