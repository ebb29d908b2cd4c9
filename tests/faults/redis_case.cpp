// What many cases begin and end with.
#include "faults/redis_case.hpp"

namespace crosslock::faults {

redis_case::pair redis_case::holder_and_waiter(const client& eyes, duration of_holder,
                                               duration of_next) {
  pair both{.holder = start("holder", of_holder), .next = start("next", of_next), .first = {}};
  both.first = fence_in(both.holder->say("acquire name 20000"));
  both.next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  return both;
}

fence redis_case::take_and_release(const std::string& name) {
  const client locks = connect();
  mutex lock{locks, name};
  auto held = conformance::acquire(here(), lock, 20s);
  EXPECT_TRUE(held);
  if (!held) return {};
  const fence given = held->held().fence();
  EXPECT_EQ(held->release(), release_result::released);
  return given;
}

}  // namespace crosslock::faults
