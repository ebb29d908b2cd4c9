// An acquire, or a release, that was described begins.
#include <crosslock/async.hpp>

#include "lock/acquirer.hpp"

#include <utility>

namespace crosslock::inner {

void refuse_second_start() {
  throw error{errc::not_held,
              "this acquire has begun already, or was moved from: describe another"};
}

void acquire_plan<hold>::start(acquire_callback done) {
  const auto from = std::exchange(lock, nullptr);
  if (!from) refuse_second_start();
  if (upgrades) {
    const auto shared = std::exchange(upgrades, nullptr);
    const time_point end = from->end_of_wait(wait);
    return shared->upgrade_async(shared, end, how.stop, std::move(executor), std::move(done));
  }
  from->acquire_async(std::move(done), how, wait, {.mode = mode, .permits = permits, .of = of},
                      std::move(executor));
}

}  // namespace crosslock::inner

namespace crosslock {

void releasing::begin(const std::shared_ptr<inner::critical_section>& held, release_callback done) {
  if (!held) throw error{errc::not_held, "this hold was moved from, or its release has begun"};
  held->leave(std::move(done));
}

std::future<release_result> releasing::future() && {
  const auto promise = std::make_shared<std::promise<release_result>>();
  auto result = promise->get_future();
  try {
    begin(std::exchange(held_, nullptr),
          [promise](release_result found) { promise->set_value(found); });
  } catch (const error&) {
    promise->set_exception(std::current_exception());
  }
  return result;
}

}  // namespace crosslock
