// What must not be left half done: a grant that is told but not written, a name without a holder, a
// caller that is kept because the server takes nothing.
#include "redis_engine_rig.hpp"

#include "engines/redis/protocol.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

seam::claim waiting(claim_mode mode) {
  seam::claim made = engine_rig::claim("a", true);
  made.mode = mode;
  return made;
}

// One who waits for the name alone falls silent, so that a reader behind him may go in. The script
// that finds this out must not tell the reader before it knows that it may write.
TEST(redis_half_done, no_grant_is_pushed_where_nothing_can_be_written) {
  servers::redis_server server;
  engine_rig first{socket_url(server)};
  engine_rig behind{socket_url(server)};
  const seam::claim late = waiting(claim_mode::shared);
  const owner_id nobody = engine_rig::claim("a").owner;
  {
    engine_rig leaves{socket_url(server)};
    EXPECT_EQ(first.ask(waiting(claim_mode::shared)).result, seam::ask_result::granted);
    EXPECT_EQ(leaves.ask(waiting(claim_mode::exclusive)).result, seam::ask_result::in_line);
    EXPECT_EQ(behind.ask(late).result, seam::ask_result::in_line);
  }
  server.say({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_error(errc::unreachable, "NOREPLICAS",
               [&] { first.engine->break_lock(*late.name, nobody, engine_rig::soon()); });
  EXPECT_FALSE(behind.events.await_grant(late.owner, 200ms));
  server.say({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_FALSE(first.engine->break_lock(*late.name, nobody, engine_rig::soon()));
  EXPECT_TRUE(behind.events.await_grant(late.owner, 5s));
}

TEST(redis_half_done, a_record_that_is_none_takes_no_name_from_anybody) {
  servers::redis_server server;
  engine_rig rig{socket_url(server)};
  server.say({"SET", side_key("fence", "a"), "abcdefghijklmnopqrs hello"});
  const seam::grant got = rig.take("a");
  EXPECT_TRUE(rig.give_back(got));
}

// 1 MiB does not fit into the buffers of a socket: the rest waits for a server that is stopped.
TEST(redis_half_done, whoever_writes_to_a_server_that_takes_nothing_gives_up_in_time) {
  servers::redis_server server;
  engine_rig rig{socket_url(server)};
  const std::string value(std::size_t{1} << 20, 'x');
  seam::cell_swap swap;
  swap.name = std::make_shared<const lock_name>("a");
  swap.value = value;
  swap.writer = engine_rig::claim("a").owner;
  server.stop();
  const time_point began = seam::real_clock().now();
  const error why = error_of([&] { rig.engine->swap_cell(swap, began + 300ms); });
  const duration taken = seam::real_clock().now() - began;
  server.go_on();
  EXPECT_EQ(why.which(), errc::timed_out) << why.what();
  EXPECT_TRUE(why.outcome_unknown());
  EXPECT_LT(taken, 2s);  // the client's own timeout is 5 s
}

}  // namespace
}  // namespace crosslock::redis
