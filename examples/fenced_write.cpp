// What makes a late writer harmless: the store remembers the highest fence and refuses a lower one.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

// In a database: UPDATE stock SET value = ?, fence = ? WHERE sku = 42 AND fence <= ?
class store {
 public:
  bool write(const std::string& value, crosslock::fence fence) {
    if (fence < highest_) return false;
    highest_ = fence;
    value_ = value;
    return true;
  }
  const std::string& value() const { return value_; }

 private:
  crosslock::fence highest_;
  std::string value_;
};

int main() {
  store shelf;
  auto locks = crosslock::connect();
  auto others = crosslock::connect();
  crosslock::mutex slow{locks, "stock/sku-42"};
  crosslock::mutex quick{others, "stock/sku-42"};

  // A fixed lease stands for a holder that was paused for longer than its lease.
  auto late = slow.acquire({.lease = 50ms});
  auto next = quick.acquire();  // granted when that lease has ended
  const bool accepted = shelf.write("from the new holder", next.fence());
  const bool stale = shelf.write("from the one that slept", late.fence());

  std::cout << "the new holder's write was " << (accepted ? "accepted" : "refused")
            << ", the late one " << (stale ? "accepted" : "refused") << "; the store has \""
            << shelf.value() << "\"\n";
  return accepted && !stale ? 0 : 1;
}
