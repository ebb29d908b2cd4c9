// Mutexes that clang can follow. What a member is guarded by, and what a function needs to be held,
// is said by attributes, and `./test tidy` checks it (-Wthread-safety); gcc sees nothing of it.
#pragma once

#include <mutex>

#ifdef __clang__
#define CROSSLOCK_ATTRIBUTE(what) __attribute__((what))
#else
#define CROSSLOCK_ATTRIBUTE(what)
#endif

/// A type that can be held, and one that holds such a thing while it lives.
#define CROSSLOCK_CAPABILITY(word) CROSSLOCK_ATTRIBUTE(capability(word))
#define CROSSLOCK_SCOPED CROSSLOCK_ATTRIBUTE(scoped_lockable)
/// A member that is only touched with that mutex.
#define CROSSLOCK_GUARDED_BY(mutex) CROSSLOCK_ATTRIBUTE(guarded_by(mutex))
/// A function that is called with that mutex, and comes back with it; it may let go meanwhile.
#define CROSSLOCK_REQUIRES(...) CROSSLOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// A function that is called without that mutex, because it takes it itself.
#define CROSSLOCK_EXCLUDES(...) CROSSLOCK_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define CROSSLOCK_ACQUIRE(...) CROSSLOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define CROSSLOCK_TRY_ACQUIRE(...) CROSSLOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define CROSSLOCK_RELEASE(...) CROSSLOCK_ATTRIBUTE(release_capability(__VA_ARGS__))
/// The mutex that an accessor returns.
#define CROSSLOCK_RETURN_CAPABILITY(mutex) CROSSLOCK_ATTRIBUTE(lock_returned(mutex))
/// For code that is right and that clang cannot follow. A comment says why it is right.
#define CROSSLOCK_NO_ANALYSIS CROSSLOCK_ATTRIBUTE(no_thread_safety_analysis)

namespace crosslock::seam {

/// std::mutex, with attributes.
class CROSSLOCK_CAPABILITY("mutex") mutex {
 public:
  void lock() CROSSLOCK_ACQUIRE() { held_.lock(); }
  void unlock() noexcept CROSSLOCK_RELEASE() { held_.unlock(); }
  bool try_lock() noexcept CROSSLOCK_TRY_ACQUIRE(true) { return held_.try_lock(); }

 private:
  std::mutex held_;
};

/// std::lock_guard, the same.
template <class Mutex>
class CROSSLOCK_SCOPED lock_guard {
 public:
  explicit lock_guard(Mutex& held) CROSSLOCK_ACQUIRE(held) : held_{held} { held_.lock(); }
  ~lock_guard() CROSSLOCK_RELEASE() { held_.unlock(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  Mutex& held_;
};

/// std::unique_lock, the same, for those who let go before its end.
class CROSSLOCK_SCOPED unique_lock {
 public:
  explicit unique_lock(mutex& held) CROSSLOCK_ACQUIRE(held) : held_{held} { held_.lock(); }
  ~unique_lock() CROSSLOCK_RELEASE() {
    if (owns_) held_.unlock();
  }
  unique_lock(const unique_lock&) = delete;
  unique_lock& operator=(const unique_lock&) = delete;

  void lock() CROSSLOCK_ACQUIRE() {
    held_.lock();
    owns_ = true;
  }
  void unlock() noexcept CROSSLOCK_RELEASE() {
    owns_ = false;
    held_.unlock();
  }
  bool owns_lock() const noexcept { return owns_; }

 private:
  mutex& held_;
  bool owns_ = true;
};

/// The reverse of a guard: lets go of a mutex that is held, and takes it again at its end, also
/// when that is an exception.
class CROSSLOCK_SCOPED unlocked {
 public:
  explicit unlocked(mutex& held) noexcept CROSSLOCK_RELEASE(held) : held_{held} { held_.unlock(); }
  ~unlocked() CROSSLOCK_RELEASE() { held_.lock(); }
  unlocked(const unlocked&) = delete;
  unlocked& operator=(const unlocked&) = delete;

 private:
  mutex& held_;
};

}  // namespace crosslock::seam
