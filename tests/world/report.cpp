// What a person gets to read when a world fails: the threads with their reasons, and the trace.
#include "world/scheduler.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace crosslock::world {

namespace {

template <class... Parts>
std::string format(const char* pattern, Parts... parts) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, parts...);
  return text;
}

std::string seconds(time_point moment) {
  const std::int64_t micros =
      std::chrono::duration_cast<std::chrono::microseconds>(moment.time_since_epoch()).count();
  return format("%" PRId64 ".%06" PRId64 " s", micros / 1'000'000, micros % 1'000'000);
}

std::string full_name(const task& which) {
  return "thread " + std::to_string(which.id) + " " + which.where.name + "/" + which.name;
}

std::string reason(const wait_at& wait) {
  std::string text;
  switch (wait.kind) {
    case wait_kind::park:
      text = format("parks on word %p, expected %u", wait.place, wait.expected);
      break;
    case wait_kind::alarm:
      text = format("waits for alarm %p", wait.place);
      break;
    case wait_kind::join:
      text = "joins " + full_name(*wait.joined);
      break;
    case wait_kind::sleep:
      text = "sleeps";
      break;
    case wait_kind::mutex:
      text = format("waits for mutex %p", wait.place);
      break;
  }
  return text + (wait.until == for_ever ? ", for ever" : ", until " + seconds(wait.until));
}

std::string condition(const task& which) {
  switch (which.state) {
    case task_state::ready:
      return "ready to run";
    case task_state::running:
      return "running";
    case task_state::waiting:
      return reason(which.wait);
    case task_state::delayed:
      return "woken, about to run";
    case task_state::held:
      return "held, as its process is paused";
    case task_state::finished:
      return "finished";
  }
  return "";
}

std::string remarks(const task& which) {
  std::string text;
  if (!which.where.alive) text += " [process killed]";
  if (which.where.paused) text += " [process paused]";
  if (which.detached) text += " [detached]";
  return text;
}

}  // namespace

void refuse(std::string_view what) {
  std::fprintf(stderr, "crosslock world: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void scheduler::need_baton(std::string_view verb) const {
  if (here().world == this) return;
  refuse(std::string(verb) + " by a thread that is not part of this world: use world::run()");
}

void scheduler::need_quiet(std::string_view verb) const {
  if (in_run_) need_baton(verb);
}

task& scheduler::self_for(std::string_view verb) const {
  need_baton(verb);
  if (here().who == nullptr) refuse(std::string(verb) + " in a timed event, which must not block");
  return *here().who;
}

std::string scheduler::dump(std::string_view why) const {
  std::string text = "crosslock world: " + std::string(why);
  text +=
      format(" (seed %" PRIu64 ", step %" PRIu64 ", at ", seed_, steps()) + seconds(now()) + ")\n";
  for (const task& each : tasks_) {
    if (each.state == task_state::finished) continue;
    text += "  " + full_name(each) + ": " + condition(each);
    if (each.state != task_state::running) text += ", since " + seconds(each.since);
    text += remarks(each) + "\n";
  }
  std::size_t events = 0;
  for (const timer& each : timers_) events += each.who == nullptr ? 1U : 0U;
  return text + "  timed events to come: " + std::to_string(events) + "\n";
}

void scheduler::trace(std::string line) {
  need_quiet("trace");
  if (!tracing()) return;
  const task* self = current();
  const std::string by = self == nullptr ? "event" : self->where.name + "/" + self->name;
  trace_.push_back("[" + seconds(now()) + "] " + by + ": " + std::move(line) + "\n");
  if (trace_.size() > options_.trace_lines) trace_.pop_front();
}

std::string scheduler::trace_text() const {
  std::string text;
  for (const std::string& line : trace_) text += line;
  return text;
}

}  // namespace crosslock::world
