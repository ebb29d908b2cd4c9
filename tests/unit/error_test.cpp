#include "engine/own_text.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace crosslock {
namespace {

constexpr int first = static_cast<int>(errc::invalid_name);
constexpr int last = static_cast<int>(errc::cancelled);

TEST(error, every_code_has_its_own_message) {
  std::set<std::string> seen;
  for (int value = first; value <= last; ++value) {
    const auto text = error_category().message(value);
    EXPECT_EQ(text.find("unknown"), std::string::npos) << value;
    EXPECT_TRUE(seen.insert(text).second) << text;
  }
}

TEST(error, a_number_that_is_no_code_is_named_as_unknown) {
  for (const int value : {0, last + 1, -1}) {
    EXPECT_EQ(error_category().message(value), "unknown crosslock error " + std::to_string(value));
  }
}

TEST(error, the_category_is_called_crosslock) {
  EXPECT_STREQ(error_category().name(), "crosslock");
  EXPECT_EQ(&error_category(), &make_error_code(errc::lost).category());
}

TEST(error, a_code_compares_with_the_enum) {
  const std::error_code code = errc::lost;
  EXPECT_EQ(code, errc::lost);
  EXPECT_NE(code, errc::closed);
}

TEST(error, the_text_and_the_message_are_both_in_what) {
  const error failure{errc::unreachable, "127.0.0.1:6379"};
  EXPECT_STREQ(failure.what(), "127.0.0.1:6379: the server cannot be reached");
  EXPECT_EQ(failure.which(), errc::unreachable);
}

TEST(error, facts_default_to_nothing) {
  const error failure{errc::closed, "x"};
  EXPECT_EQ(failure.engine(), "");
  EXPECT_EQ(failure.native_code(), 0);
  EXPECT_FALSE(failure.outcome_unknown());
}

TEST(error, facts_survive_a_copy) {
  const error failure{
      errc::timed_out, "x", {.engine = "memory", .native_code = 110, .outcome_unknown = true}};
  const error copy = failure;
  EXPECT_EQ(copy.engine(), "memory");
  EXPECT_EQ(copy.native_code(), 110);
  EXPECT_TRUE(copy.outcome_unknown());
  EXPECT_EQ(copy.code(), errc::timed_out);
}

TEST(error, only_what_passes_by_itself_is_retryable) {
  const std::set<errc> yes{errc::unreachable, errc::timed_out, errc::queue_full};
  for (int value = first; value <= last; ++value) {
    const auto code = static_cast<errc>(value);
    EXPECT_EQ((error{code, "x"}.retryable()), yes.contains(code)) << value;
  }
}

TEST(error, codes_match_the_conditions_of_the_standard_library) {
  EXPECT_EQ(make_error_code(errc::would_deadlock), std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(make_error_code(errc::not_owner), std::errc::operation_not_permitted);
  EXPECT_EQ(make_error_code(errc::not_held), std::errc::operation_not_permitted);
  EXPECT_EQ(make_error_code(errc::timed_out), std::errc::timed_out);
  EXPECT_EQ(make_error_code(errc::denied), std::errc::permission_denied);
  EXPECT_EQ(make_error_code(errc::unreachable), std::errc::not_connected);
  EXPECT_EQ(make_error_code(errc::unsupported), std::errc::not_supported);
  EXPECT_EQ(make_error_code(errc::invalid_name), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(errc::invalid_lease), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(errc::invalid_url), std::errc::invalid_argument);
  EXPECT_EQ(make_error_code(errc::cancelled), std::errc::operation_canceled);
  EXPECT_NE(make_error_code(errc::lost), std::errc::timed_out);
}

TEST(error, it_is_caught_as_a_system_error) {
  try {
    throw error{errc::denied, "x"};
  } catch (const std::system_error& caught) {
    EXPECT_EQ(caught.code(), errc::denied);
  }
}

TEST(error, for_another_thread_it_has_a_text_of_its_own) {
  const error first{
      errc::denied, "x: y", {.engine = "small", .native_code = 7, .outcome_unknown = true}};
  const error second = seam::with_own_text(first);
  EXPECT_STREQ(second.what(), first.what());
  EXPECT_NE(second.what(), first.what()) << "the same bytes, elsewhere";
  EXPECT_EQ(second.which(), errc::denied);
  EXPECT_EQ(second.engine(), "small");
  EXPECT_EQ(second.native_code(), 7);
  EXPECT_TRUE(second.outcome_unknown());
}

}  // namespace
}  // namespace crosslock
