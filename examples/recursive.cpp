// A lock that its thread may take again: no round trip, the same fence.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <mutex>

class tree {
 public:
  explicit tree(const crosslock::client& locks) : mutex_{locks, "tree"} {}

  void add(int depth) {
    std::scoped_lock guard{mutex_};
    std::cout << "depth " << mutex_.depth() << ", fence " << mutex_.fence().to_string() << '\n';
    if (depth > 1) add(depth - 1);  // locks again
  }

 private:
  crosslock::recursive_mutex mutex_;
};

int main() {
  auto locks = crosslock::connect();
  tree{locks}.add(3);
  const bool free = locks.look("tree").holders.empty();
  std::cout << (free ? "given back once, at the end\n" : "still held\n");
  return free ? 0 : 1;
}
