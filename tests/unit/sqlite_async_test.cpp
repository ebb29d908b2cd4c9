// Acquires without a thread, on an engine that answers on one of its own.
#include "unit/sqlite_rig.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

TEST(sqlite_async, whoever_does_not_wait_gets_a_free_lock_from_an_engine_that_answers_later) {
  const sqlite::scratch dir;
  const client locks = connect("sqlite:" + dir.file("locks.db"));
  for (int i = 0; i < 100; ++i) {
    std::promise<acquire_result> told;
    mutex{locks, "name"}.acquire_async(
        [&told](acquire_result result) { told.set_value(std::move(result)); }, {}, 0s);
    const acquire_result result = told.get_future().get();
    ASSERT_TRUE(result.hold) << "at the " << i << "th time";
  }
}

}  // namespace
}  // namespace crosslock
