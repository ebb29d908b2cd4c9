// Interrupted threads, and mutexes that know of them: a simulated thread never waits for a mutex in
// the kernel, where it would wait with the baton for somebody who has none. The calls of the
// standard library are caught here, ahead of the C library's.
#include "world/scheduler.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

namespace crosslock::world {

void scheduler::may_interrupt() noexcept {
  task* const self = here().world == this ? here().who : nullptr;
  if (options_.interrupted <= 0 || self == nullptr || self->mutexes == 0) return;
  if (!pick_rng_.chance(options_.interrupted)) return;
  const duration length = pick_rng_.uniform(duration::zero(), options_.interrupted_max);
  wait({wait_kind::sleep, nullptr, now() + length, 0, nullptr});
}

void scheduler::wait_for_mutex(const void* mutex) {
  ++waiting_for_mutex_;
  wait({wait_kind::mutex, mutex, for_ever, 0, nullptr});
  --waiting_for_mutex_;
}

void scheduler::mutex_is_free(const void* mutex) noexcept {
  if (waiting_for_mutex_ != 0) wake(mutex);
}

}  // namespace crosslock::world

namespace {

using crosslock::world::scheduler;
using crosslock::world::task;
using verb = int (*)(pthread_mutex_t*);

verb find_real(const char* name) noexcept { return reinterpret_cast<verb>(dlsym(RTLD_NEXT, name)); }

}  // namespace

extern "C" {

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static const verb real = find_real("pthread_mutex_trylock");
  const int result = real(mutex);
  task* const self = scheduler::locking();
  if (self != nullptr && result == 0) ++self->mutexes;
  return result;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const verb real = find_real("pthread_mutex_lock");
  task* const self = scheduler::locking();
  if (self == nullptr) return real(mutex);
  int result = pthread_mutex_trylock(mutex);
  while (result == EBUSY && self->owner->any_interrupted()) {
    self->owner->wait_for_mutex(mutex);
    result = pthread_mutex_trylock(mutex);
  }
  if (result != EBUSY) return result;
  result = real(mutex);  // somebody outside of this world has it
  if (result == 0) ++self->mutexes;
  return result;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static const verb real = find_real("pthread_mutex_unlock");
  const int result = real(mutex);
  task* const self = scheduler::locking();
  if (self == nullptr || self->mutexes == 0) return result;
  --self->mutexes;
  self->owner->mutex_is_free(mutex);
  return result;
}

}  // extern "C"
