// Asking, judging, and looking for what is left.
#include "faults/fault_case.hpp"

#include <sstream>

namespace crosslock::faults {

fault_case::notice fault_case::ask_notice(real_actor& whom, const std::string& name) {
  std::istringstream words{whom.say("told " + name)};
  notice told;
  std::int64_t when = 0;
  words >> told.times >> when >> told.why;
  told.when = time_point{duration{when}};
  return told;
}

checker::verdict fault_case::judge(checker::check_options how) {
  const checker::verdict verdict = checker::check(scene_.history(), how);
  constexpr std::size_t enough = 8000;
  EXPECT_TRUE(verdict.kept()) << verdict.to_string().substr(0, enough);
  EXPECT_GT(verdict.grants, 0U);
  return verdict;
}

void fault_case::expect_nothing_left() {
  const bool clean = eventually([this] { return scene_.leftovers().empty(); });
  std::string left;
  for (const std::string& each : scene_.leftovers()) left += each + '\n';
  EXPECT_TRUE(clean) << left;
}

void fault_case::expect_sound() {
  EXPECT_EQ(scene_.run_sql("SELECT count(*) FROM pragma_integrity_check "
                           "WHERE integrity_check <> 'ok'"),
            0);
}

}  // namespace crosslock::faults
