// Asking, judging, and looking for what is left.
#include "faults/fault_case.hpp"

#include "conformance/judging.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace crosslock::faults {

std::int64_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

time_point fault_case::in_at(real_actor& who) {
  const std::string said = who.answer();
  const time_point at = now();
  EXPECT_TRUE(said.starts_with("held ")) << said;
  return at;
}

fence fault_case::fence_in(const std::string& said) {
  EXPECT_TRUE(said.starts_with("held ")) << said;
  return fence{said.starts_with("held ") ? std::stoll(said.substr(5)) : 0};
}

fault_case::notice fault_case::ask_notice(real_actor& whom, const std::string& name) {
  std::istringstream words{whom.say("told " + name)};
  notice told;
  std::int64_t when = 0;
  words >> told.times >> when >> told.why;
  told.when = time_point{duration{when}};
  return told;
}

checker::verdict fault_case::judge(checker::check_options how) {
  const checker::verdict verdict = conformance::expect_kept(history(), how);
  // For the table at the end of the run.
  expected_overlaps_ += verdict.expected_overlaps;
  RecordProperty("expected_overlaps", std::to_string(expected_overlaps_));
  return verdict;
}

fault_case::pair fault_case::holder_and_waiter(const client& viewer, duration of_holder,
                                               duration of_next) {
  pair both{.holder = begin("holder", of_holder), .next = begin("next", of_next), .first = {}};
  both.first = fence_in(both.holder->say("acquire name 20000"));
  both.next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(viewer, "name", 1));
  return both;
}

fence fault_case::take_and_release(const std::string& name, duration with_lease) {
  options how;
  how.lease = with_lease;
  const client locks = reach(how);
  mutex lock{locks, name};
  auto held = conformance::acquire(here(), lock, 20s);
  EXPECT_TRUE(held);
  if (!held) return {};
  const fence given = held->held().fence();
  EXPECT_EQ(held->release(), release_result::released);
  return given;
}

void fault_case::expect_nothing_left(duration within) {
  const bool clean = eventually([this] { return leftovers().empty(); }, within);
  std::string left;
  for (const std::string& each : leftovers()) left += each + '\n';
  EXPECT_TRUE(clean) << left;
}

}  // namespace crosslock::faults
