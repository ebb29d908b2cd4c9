// A hold written down on a receipt: renewed, taken up again, and given back by whoever has it. The
// lease goes on running meanwhile, and nobody else renews it.
#include <crosslock/crosslock.hpp>

#include <chrono>
#include <iostream>
#include <string>

int main() {
  auto locks = crosslock::connect();
  crosslock::mutex deploy{locks, "deploy"};

  auto hold = deploy.acquire();
  const auto fence = hold.fence();
  const std::string text = hold.detach().to_string();  // one word, safe in a shell: keep it secret
  std::cout << "detached; still taken: " << std::boolalpha << !deploy.try_acquire() << '\n';

  // Later, in another client.
  auto others = crosslock::connect();
  const auto receipt = crosslock::receipt::parse(text);
  others.renew(receipt, std::chrono::minutes{5});  // it stays detached, and the receipt good
  auto again = others.adopt(receipt);
  std::cout << "taken up with the same fence: " << (again.fence() == fence) << '\n';

  try {
    auto twice = others.adopt(receipt);
  } catch (const crosslock::error& why) {
    std::cout << "a receipt is taken up once: " << why.code().message() << '\n';
  }

  // Who does not stay need not take it up.
  const auto handed_on = again.detach();
  const bool given_back = locks.release(handed_on) == crosslock::release_result::released;
  std::cout << "given back by its receipt: " << given_back << '\n';
  return given_back && handed_on.fence == fence ? 0 : 1;
}
