#include "conformance/judging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace crosslock::conformance {
namespace {

/// Where the history of the present case is kept.
std::filesystem::path keepsake() {
  const testing::TestInfo& mine = *testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string{"crosslock-"} + mine.test_suite_name() + '.' + mine.name();
  std::replace(name.begin(), name.end(), '/', '-');
  return std::filesystem::temp_directory_path() / (name + ".jsonl");
}

}  // namespace

checker::verdict expect_kept(checker::history events, const checker::check_options& how) {
  checker::verdict verdict = checker::check(events, how);
  EXPECT_GT(verdict.grants, 0U);
  if (verdict.kept()) return verdict;
  constexpr std::size_t enough = 8000;
  std::ofstream file{keepsake()};
  checker::write_jsonl(file, events);
  ADD_FAILURE() << verdict.to_string().substr(0, enough) << "\nall of it: " << keepsake().string();
  return verdict;
}

}  // namespace crosslock::conformance
