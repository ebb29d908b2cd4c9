// The asynchronous acquire of a multi_lock: each grant asks for the next one.
#include "lock/lock_set.hpp"

#include <utility>

namespace crosslock::inner {
namespace {

/// Owned by the callback of the acquire that is under way, and by the last hop to the user. One
/// step at a time.
class lock_chain : public std::enable_shared_from_this<lock_chain> {
 public:
  lock_chain(std::shared_ptr<const lock_set> locks, multi_acquire_callback done,
             const acquire_how& how, const std::optional<duration>& wait,
             continuation_executor executor)
      : locks_{std::move(locks)},
        ends_{locks_->ends_of(wait)},
        done_{std::move(done)},
        executor_{std::move(executor)},
        taken_{std::make_unique<joint>(locks_->indices(), how.stop)},
        how_{.lease = how.lease, .stop = taken_->waits()} {}

  /// Throws when the acquire of the next part is refused.
  void ask_for_next() {
    const lock_set::part& part = locks_->parts()[next_];
    part.lock.acquire_async_until(
        [self = shared_from_this()](acquire_result result) { self->step(std::move(result)); }, how_,
        ends_[next_], {.mode = part.mode});
  }

 private:
  void step(acquire_result result) {
    try {
      if (result.failure) std::rethrow_exception(result.failure);
      if (result.hold) taken_->add(std::move(*result.hold));
      taken_->check();
      if (result.hold && ++next_ < locks_->parts().size()) return ask_for_next();
      if (result.hold) outcome_.hold.emplace(std::move(taken_));
    } catch (...) {
      outcome_.failure = std::current_exception();
    }
    taken_.reset();  // if it has failed, nothing is held any more when that is told
    end();
  }

  void end() {
    const auto tell = [self = shared_from_this()] {
      const auto done = std::move(self->done_);
      done(std::move(self->outcome_));
    };
    // Not kept by what it is going to keep: an executor may own what it was given.
    if (const auto executor = std::move(executor_)) {
      try {
        return executor(tell);
      } catch (...) {
        // It has not taken it: this place will do.
      }
    }
    tell();
  }

  const std::shared_ptr<const lock_set> locks_;
  const std::vector<time_point> ends_;
  multi_acquire_callback done_;
  continuation_executor executor_;
  std::unique_ptr<joint> taken_;
  const acquire_how how_;
  std::size_t next_ = 0;
  multi_acquire_result outcome_;
};

}  // namespace

void lock_set::acquire_async(multi_acquire_callback done, const acquire_how& how,
                             const std::optional<duration>& wait,
                             continuation_executor executor) const {
  std::make_shared<lock_chain>(shared_from_this(), std::move(done), how, wait, std::move(executor))
      ->ask_for_next();
}

}  // namespace crosslock::inner
