// Floors of what never leaves the process; the same for every engine.
#pragma once

#include "benchmarks/floors/fifo_futex_lock.hpp"
#include "benchmarks/subject.hpp"

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace crosslock::bench {

class futex_party final : public party {
 public:
  explicit futex_party(std::shared_ptr<fifo_futex_lock> lock) : lock_{std::move(lock)} {}

  std::int64_t lock() override {
    lock_->lock();
    return 0;
  }
  void unlock() override { lock_->unlock(); }

 private:
  const std::shared_ptr<fifo_futex_lock> lock_;
};

class standard_reentrant final : public reentrant {
 public:
  standard_reentrant() { mutex_.lock(); }
  ~standard_reentrant() override { mutex_.unlock(); }

  void again(std::uint64_t times) override {
    for (; times > 0; --times) {
      mutex_.lock();
      mutex_.unlock();
    }
  }

 private:
  std::recursive_mutex mutex_;
};

class standard_reader final : public party {
 public:
  explicit standard_reader(std::shared_ptr<std::shared_mutex> lock) : lock_{std::move(lock)} {}

  std::int64_t lock() override {
    lock_->lock_shared();
    return 0;
  }
  void unlock() override { lock_->unlock_shared(); }

 private:
  const std::shared_ptr<std::shared_mutex> lock_;
};

}  // namespace crosslock::bench
