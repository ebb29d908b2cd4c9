// The ways to begin an acquire that was described, and the kinds of lock that describe one.
#pragma once

#include <crosslock/crosslock.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace crosslock::conformance {

enum class form { callback, future, coroutine };
inline constexpr form all_forms[] = {form::callback, form::future, form::coroutine};
inline const char* to_string(form which) {
  switch (which) {
    case form::callback:
      return "callback";
    case form::future:
      return "future";
    case form::coroutine:
      return "coroutine";
  }
  return "?";
}

/// A coroutine that belongs to whoever has it; destroyed with it, wherever it has come to.
class owned_coroutine {
 public:
  struct promise_type {
    owned_coroutine get_return_object() {
      return owned_coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  owned_coroutine(owned_coroutine&& other) noexcept : at_{std::exchange(other.at_, nullptr)} {}
  owned_coroutine& operator=(owned_coroutine&& other) noexcept {
    std::swap(at_, other.at_);
    return *this;
  }
  ~owned_coroutine() { destroy(); }

  void destroy() {
    if (at_) std::exchange(at_, nullptr).destroy();
  }

 private:
  explicit owned_coroutine(std::coroutine_handle<promise_type> at) noexcept : at_{at} {}

  std::coroutine_handle<promise_type> at_;
};

/// One that nobody owns: it is gone when it ends.
struct free_coroutine {
  struct promise_type {
    free_coroutine get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// How an acquire that was begun has ended, once it has. Thread-safe.
template <class Held>
class begun {
 public:
  bool ended() {
    if (future_.valid() && future_.wait_for(std::chrono::seconds{0}) == std::future_status::ready) {
      try {
        end({.hold = future_.get(), .failure = {}});
      } catch (...) {
        end({.hold = {}, .failure = std::current_exception()});
      }
    }
    return ended_.load();
  }
  // Of one that has ended:
  std::optional<Held>& hold() { return outcome_.hold; }
  bool empty() const { return !outcome_.hold && !outcome_.failure; }
  errc failure() const {
    if (!outcome_.failure) return errc{};
    try {
      std::rethrow_exception(outcome_.failure);
    } catch (const error& why) {
      return why.which();
    }
  }
  std::thread::id thread() const { return thread_; }  ///< where the continuation ran

  void end(acquire_outcome<Held> outcome) {
    outcome_ = std::move(outcome);
    thread_ = std::this_thread::get_id();
    ended_.store(true);
  }
  void poll(std::future<std::optional<Held>> later) { future_ = std::move(later); }

 private:
  acquire_outcome<Held> outcome_;
  std::thread::id thread_;
  std::atomic<bool> ended_{false};
  std::future<std::optional<Held>> future_;
};

template <class Held>
free_coroutine await(acquisition<Held> wanted, std::shared_ptr<begun<Held>> into) {
  acquire_outcome<Held> outcome;
  try {
    outcome.hold = co_await std::move(wanted);
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  into->end(std::move(outcome));
}

template <class Held>
owned_coroutine await_owned(acquisition<Held> wanted, std::shared_ptr<begun<Held>> into) {
  into->end({.hold = co_await std::move(wanted), .failure = {}});
}

template <class Held>
std::shared_ptr<begun<Held>> begin(form how, acquisition<Held> wanted) {
  const auto made = std::make_shared<begun<Held>>();
  switch (how) {
    case form::callback:
      std::move(wanted).start(
          [made](acquire_outcome<Held> outcome) { made->end(std::move(outcome)); });
      break;
    case form::future:
      made->poll(std::move(wanted).future());
      break;
    case form::coroutine:
      await(std::move(wanted), made);
      break;
  }
  return made;
}

/// One kind of lock: how an acquire of it is described, and how everybody else is kept out.
struct lock_kind {
  std::string name;
  std::function<acquisition<hold>(const client&, const std::string&, acquire_how,
                                  std::optional<duration>)>
      describe;
  std::function<hold(const client&, const std::string&)> shut_out;
};

inline std::vector<lock_kind> all_kinds() {
  const auto exclusive = [](const client& locks, const std::string& name) {
    return mutex{locks, name}.acquire();
  };
  return {
      {"mutex",
       [](const client& locks, const std::string& name, acquire_how how,
          std::optional<duration> wait) {
         return mutex{locks, name}.async_acquire(std::move(how), wait);
       },
       exclusive},
      {"shared_mutex",
       [](const client& locks, const std::string& name, acquire_how how,
          std::optional<duration> wait) {
         return shared_mutex{locks, name}.async_acquire(std::move(how), wait);
       },
       exclusive},
      {"shared_mutex, shared",
       [](const client& locks, const std::string& name, acquire_how how,
          std::optional<duration> wait) {
         return shared_mutex{locks, name}.async_acquire_shared(std::move(how), wait);
       },
       exclusive},
      {"semaphore",
       [](const client& locks, const std::string& name, acquire_how how,
          std::optional<duration> wait) {
         return semaphore{locks, name, 3}.async_acquire(2, std::move(how), wait);
       },
       [](const client& locks, const std::string& name) {
         return semaphore{locks, name, 3}.acquire(2);
       }},
  };
}

/// Keeps what it is given until it is told to run it. Thread-safe.
class patient_executor {
 public:
  continuation_executor as_function() {
    return [kept = kept_](std::function<void()> continuation) {
      const std::lock_guard guard{kept->mutex};
      kept->waiting.push_back(std::move(continuation));
    };
  }
  std::size_t waiting() const {
    const std::lock_guard guard{kept_->mutex};
    return kept_->waiting.size();
  }
  std::size_t run() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard guard{kept_->mutex};
      now.swap(kept_->waiting);
    }
    for (const auto& each : now) each();
    return now.size();
  }

 private:
  struct shelf {
    std::mutex mutex;
    std::vector<std::function<void()>> waiting;
  };

  std::shared_ptr<shelf> kept_ = std::make_shared<shelf>();
};

}  // namespace crosslock::conformance
