// A job that at most one process of the cluster does at a time.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <optional>

int main() {
  auto locks = crosslock::connect();
  auto others = crosslock::connect();  // stands for another machine

  // run() waits for its turn. It passes the hold, and gives the lock back also when fn throws.
  const int rows = locks.run("nightly-report", [&](crosslock::hold& hold) {
    std::cout << "writing the report under fence " << hold.fence().to_string() << '\n';

    // try_run() does not wait: empty when somebody else is at it.
    const auto second = others.try_run("nightly-report", [] { return 1; });
    std::cout << "another machine " << (second ? "does it too" : "sees that it is busy") << '\n';

    hold.check();  // throws if the lock was lost meanwhile
    return second ? -1 : 42;
  });

  std::cout << rows << " rows\n";
  return rows == 42 ? 0 : 1;
}
