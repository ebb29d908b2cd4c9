// A hold written down on a receipt, and taken up again by whoever has it. The lease goes on running
// meanwhile, and nobody renews it.
#include <crosslock/crosslock.hpp>

#include <iostream>
#include <string>

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex deploy{locks, "deploy"};

  auto hold = deploy.acquire();
  const auto fence = hold.fence();
  const std::string paper = hold.detach().to_string();  // one word, safe in a shell: keep it secret
  std::cout << "detached; still taken: " << std::boolalpha << !deploy.try_acquire() << '\n';

  // Later, in another client.
  auto others = crosslock::connect();
  const auto receipt = crosslock::receipt::parse(paper);
  auto again = others.adopt(receipt);
  std::cout << "taken up with the same fence: " << (again.fence() == fence) << '\n';

  try {
    auto twice = others.adopt(receipt);
  } catch (const crosslock::error& why) {
    std::cout << "a receipt serves once: " << why.code().message() << '\n';
    return again.fence() == fence ? 0 : 1;
  }
  return 1;
}
