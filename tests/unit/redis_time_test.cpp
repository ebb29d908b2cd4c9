// What the server's clock, and the time that passes, do to what is stored beside a name.
#include "redis_engine_rig.hpp"

#include "engines/redis/protocol.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;
using seam::ask_result;
using servers::redis_server;

seam::claim reader() {
  seam::claim made = engine_rig::claim("a");
  made.mode = claim_mode::shared;
  return made;
}

// The place of one who refreshes nothing ends by its ticket, which lies in the future then.
TEST(redis_time, who_comes_after_the_clock_was_put_back_has_a_place_that_ends) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const seam::grant held = one.take("a");
  ASSERT_EQ(one.ask(engine_rig::claim("a", true)).result, ask_result::in_line);
  const std::string line = side_key("line", "a");
  const std::string first = server.say({"ZRANGE", line, "0", "0"}).items.at(0).text;
  (void)server.say({"ZADD", line, "XX", "4102444800000000", first});  // in the year 2100
  const seam::claim late = engine_rig::claim("a", true);
  ASSERT_EQ(one.ask(late).result, ask_result::in_line);
  EXPECT_EQ(server.say({"ZRANK", line, first}).text, "0");
  EXPECT_EQ(server.say({"HEXISTS", side_key("wait", "a"), late.owner.to_string()}).text, "1");
}

TEST(redis_time, readers_that_stay_for_days_keep_the_record_of_the_last_fence) {
  redis_server server;
  engine_rig one{socket_url(server)};
  const auto first = one.ask(reader());
  const auto second = one.ask(reader());
  ASSERT_EQ(second.result, ask_result::granted);
  const std::string record = side_key("fence", "a");
  ASSERT_EQ(server.say({"EXPIRE", record, "100"}).text, "1");  // nearly a day has passed
  seam::renewal renewal{.held = first.granted, .lease = 30s};
  one.engine->renew({&renewal, 1}, engine_rig::soon());
  EXPECT_EQ(renewal.outcome, seam::renewal::result::renewed);
  EXPECT_GT(std::stoll(server.say({"TTL", record}).text), 80'000);
}

}  // namespace
}  // namespace crosslock::redis
