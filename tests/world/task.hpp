// What the scheduler knows about one simulated thread and about the process it belongs to.
#pragma once

#include "world/baton.hpp"

#include <crosslock/time.hpp>

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace crosslock::world {

class scheduler;
struct task;

struct home {
  std::string name;
  bool alive = true;
  bool paused = false;
  duration wake_delay{};    ///< a woken thread runs up to this much later
  std::vector<task*> held;  ///< could run, were the process not paused
  int interrupted = 0;      ///< threads that do not run and hold a mutex
};

enum class wait_kind { park, alarm, join, sleep, mutex };

inline constexpr time_point for_ever = time_point::max();

/// Every wait is a wait at a place, which is an address and is never followed.
struct wait_at {
  wait_kind kind = wait_kind::sleep;
  const void* place = nullptr;  ///< null: only time ends this wait
  time_point until = for_ever;
  std::uint32_t expected = 0;    ///< park: for the dump
  const task* joined = nullptr;  ///< join: for the dump
};

enum class task_state {
  ready,
  running,
  waiting,
  delayed,  ///< woken, and runs after its process's wake delay
  held,     ///< ready, in a paused process
  finished,
};

/// Lives as long as the world, so that old timers may point to it.
struct task {
  task(std::uint64_t number, std::string called, home& belongs, std::function<void()> runs)
      : id(number), name(std::move(called)), where(belongs), body(std::move(runs)) {}

  const std::uint64_t id;
  const std::string name;
  home& where;
  std::function<void()> body;
  scheduler* owner = nullptr;

  baton go;
  pthread_t os{};
  bool os_started = false;  ///< the OS thread starts with the task's first turn
  bool os_joined = false;
  bool detached = false;
  int mutexes = 0;  ///< that it holds

  task_state state = task_state::ready;
  wait_at wait;
  std::uint64_t wait_number = 0;  ///< grows with every wait: a timer of an older one is void
  time_point since{};             ///< in this state
};

}  // namespace crosslock::world
