// Which exit code each failure has: what a script can tell apart.
#include "cli/exit_code.hpp"

#include <gtest/gtest.h>

#include <map>

namespace crosslock::cli {
namespace {

TEST(cli_exit_code, every_failure_has_the_code_that_the_manual_gives_it) {
  const std::map<errc, int> expected{
      {errc::invalid_name, 64},   {errc::invalid_lease, 64},    {errc::invalid_url, 78},
      {errc::would_deadlock, 70}, {errc::upgrade_conflict, 75}, {errc::conflict, 78},
      {errc::not_held, 79},       {errc::not_owner, 79},        {errc::lost, 79},
      {errc::queue_full, 75},     {errc::fence_exhausted, 78},  {errc::forked, 70},
      {errc::closed, 70},         {errc::unsupported, 78},      {errc::unreachable, 69},
      {errc::cancelled, 75},      {errc::timed_out, 69},        {errc::denied, 77},
      {errc::protocol, 69},       {errc::broken, 79},
  };
  for (const auto& [failure, code] : expected) {
    EXPECT_EQ(exit_code_of(error{failure, "x"}), code) << make_error_code(failure).message();
  }
  // Those who add one say what its code is.
  EXPECT_EQ(expected.size(), static_cast<std::size_t>(errc::cancelled));
}

}  // namespace
}  // namespace crosslock::cli
