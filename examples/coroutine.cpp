// co_await an acquire, in coroutines of any kind: here the simplest one, and a loop of our own that
// runs what comes after the wait.
#include <crosslock/crosslock.hpp>

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <utility>

using namespace std::chrono_literals;

namespace {

struct task {  // starts at once, ends by itself
  struct promise_type {
    task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

class loop {
 public:
  void post(std::function<void()> work) {
    const std::lock_guard guard{mutex_};
    waiting_.push_back(std::move(work));
    news_.notify_one();
  }
  void run_one() {
    std::unique_lock guard{mutex_};
    news_.wait(guard, [this] { return !waiting_.empty(); });
    const auto work = std::exchange(waiting_.front(), {});
    waiting_.pop_front();
    guard.unlock();
    work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> waiting_;
};

task work(crosslock::mutex& lock, loop& main_loop, int& done) {
  // Without resume_on it would go on where options::executor says, or on the client's own thread.
  const auto here = [&](std::function<void()> rest) { main_loop.post(std::move(rest)); };
  if (auto hold = co_await lock.async_acquire({}, 10s).resume_on(here)) {
    std::cout << "in, with fence " << hold->fence().to_string() << '\n';
    ++done;
  }  // released here
}

}  // namespace

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex lock{locks, "job"};
  loop main_loop;
  int done = 0;
  for (int i = 0; i < 3; ++i) work(lock, main_loop, done);  // three wait at once, on no thread
  while (done < 3) main_loop.run_one();
}
