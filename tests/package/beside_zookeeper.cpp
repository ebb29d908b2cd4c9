// A user who has ZooKeeper's multi-threaded client in the same program: while crosslock holds a
// lock, the other one looks at its node.
#include <crosslock/crosslock.hpp>

#define THREADED
#include <zookeeper/zookeeper.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

namespace {

/// Waits for the connection as long as a busy machine may need.
bool is_there(zhandle_t* other, const char* path) {
  for (int i = 0; i < 2000; ++i) {
    Stat found{};
    const int answer = zoo_exists(other, path, 0, &found);
    if (answer == ZOK || answer == ZNONODE) return answer == ZOK && found.numChildren == 1;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return false;
}

}  // namespace

int main() {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  const std::string url = std::getenv("CROSSLOCK_URL");
  const auto host = url.find("://") + 3;
  zhandle_t* other = zookeeper_init(url.substr(host, url.find('?') - host).c_str(), nullptr, 10000,
                                    nullptr, nullptr, 0);
  auto locks = crosslock::connect();
  crosslock::mutex stock{locks, "stock/sku-42"};
  std::scoped_lock guard{stock};
  if (!is_there(other, "/stock/sku-42")) return 1;
  zookeeper_close(other);
  std::cout << "fence " << stock.fence().to_string() << '\n';
}
