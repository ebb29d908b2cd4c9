// An acquire that was described begins.
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
  from->acquire_async(std::move(done), how, wait, {.mode = mode, .permits = permits, .of = of},
                      std::move(executor));
}

}  // namespace crosslock::inner
