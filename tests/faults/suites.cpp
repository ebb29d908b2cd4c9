// The table of stages, and what every staged case begins and ends with.
#include "faults/suites.hpp"

#include "engine/registry.hpp"

#include <algorithm>

namespace crosslock::faults {
namespace {

std::vector<offered_stage>& stage_table() {
  static std::vector<offered_stage> all;
  return all;
}

TEST(fault_stages, every_engine_that_is_built_has_a_stage) {
  for (const seam::registered& row : seam::registry()) {
    if (row.linked == nullptr || row.linked->offers->within_process) continue;
    EXPECT_FALSE(stages_of(row.engine, ability::everyday).empty())
        << "the engine " << row.engine << " is linked but has no file in tests/faults/stages";
  }
}

TEST(fault_stages, every_stage_is_of_an_engine_that_is_built) {
  for (const offered_stage& each : offered_stages()) {
    const auto rows = seam::registry();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const seam::registered& row) {
      return row.engine == each.engine && row.linked != nullptr;
    })) << each.engine;
  }
}

}  // namespace

bool offer_stage(offered_stage stage) {
  stage_table().push_back(std::move(stage));
  return true;
}

const std::vector<offered_stage>& offered_stages() { return stage_table(); }

std::vector<const offered_stage*> stages_of(std::string_view engine, ability with) {
  std::vector<const offered_stage*> found;
  for (const offered_stage& each : stage_table()) {
    if (each.engine == engine && each.can.contains(with)) found.push_back(&each);
  }
  return found;
}

void staged_case::TearDown() {
  if (!stage_) return;
  expect_nothing_left();
  stage_->expect_sound();
}

conformance::surroundings staged_case::here() {
  return {.proc = 0,
          .clock = &seam::real_clock(),
          .sleep = sleep_for_real,
          .resource = &stage_->numbers(),
          .book = &stage_->book()};
}

client staged_case::connect(options how) { return connect(bounds().lasting, std::move(how)); }

client staged_case::connect(duration with_lease, options how) {
  how.lease = with_lease;
  return stage_->connect(std::move(how));
}

void staged_case::settle(real_actor& holder) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(bounds().settled).count();
  EXPECT_EQ(holder.say("work name " + std::to_string(ms)), "held");
  holder.send("work name 60000");
}

void staged_case::serve_in_any_order(std::vector<std::unique_ptr<real_actor>>& waiters) {
  while (!waiters.empty()) {
    auto in = waiters.end();
    ASSERT_TRUE(eventually([&] {
      in = std::find_if(waiters.begin(), waiters.end(),
                        [](auto& each) { return each->has_answered(); });
      return in != waiters.end();
    }));
    in_at(**in);
    EXPECT_EQ((*in)->say("release name"), "released");
    waiters.erase(in);
  }
}

void staged_case::play_head_waiter(void (*falls_out)(real_actor&), void (*comes_back)(real_actor&),
                                   duration calm) {
  const client viewer = connect();
  const auto [holder, head, first] = holder_and_waiter(viewer, bounds().lasting, bounds().brief);
  const auto next = start("next", bounds().renewed);
  next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 2));
  falls_out(*head);
  const time_point released = now();
  EXPECT_EQ(holder->say("release name"), "released");
  EXPECT_LE(in_at(*next) - released, bounds().frozen_head);
  EXPECT_EQ(next->say("work name 500"), "held");
  comes_back(*head);
  EXPECT_EQ(next->say("work name 200"), "held");
  EXPECT_EQ(next->say("release name"), "released");
  EXPECT_LE(in_at(*head) - released, 20s);  // late, but served
  EXPECT_EQ(head->say("release name"), "released");
  judge(calm);
}

checker::verdict staged_case::judge_with_stale_write(duration calm) {
  auto how = strictness(calm);
  how.need_stale_write = true;
  return fault_case::judge(how);
}

std::vector<mishap> mishaps() {
  using proxy::fate;
  using proxy::way;
  return {{"answer_lost_and_connection_silent", way::to_client, fate::mute(), true},
          {"answer_lost_and_connection_reset", way::to_client, fate::reset()},
          {"answer_held", way::to_client, fate::hold(), true},
          {"answer_cut_in_two", way::to_client, fate::cut_after(0)},
          {"request_lost_and_connection_silent", way::to_server, fate::mute(), true},
          {"request_lost_and_connection_reset", way::to_server, fate::reset()},
          {"request_held", way::to_server, fate::hold(), true},
          {"request_cut_in_two", way::to_server, fate::cut_after(0)},
          {"request_carried_out_twice", way::to_server, fate::replay()}};
}

}  // namespace crosslock::faults
