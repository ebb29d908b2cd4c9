// A lock for each of a million users, made of 64: and several users at once, without deadlock.
#include <crosslock/crosslock.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main() {
  auto locks = crosslock::connect();
  crosslock::striped_mutex users{locks, "users", 64};  // everybody must say 64

  if (auto hold = users.try_acquire_for("alice", 2s)) {
    std::cout << "alice is in stripe " << users.stripe_of("alice") << ", " << hold->name().str()
              << '\n';
  }

  // Never lock a second key under the first: take the set.
  auto both = users.all_of({"bob", "alice"}).acquire();
  const auto fences = both.fences();  // in the order of the keys
  std::cout << "bob and alice with the fences " << fences[0].to_string() << " and "
            << fences[1].to_string() << '\n';
  return both.valid() ? 0 : 1;
}
