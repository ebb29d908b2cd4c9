#include "engine/url_values.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::seam {
namespace {

using namespace std::chrono_literals;

std::string complaint(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& failure) {
    EXPECT_EQ(failure.which(), errc::invalid_url);
    return failure.what();
  }
  return "nothing was thrown";
}

TEST(url_values, times_are_read_with_their_unit) {
  const std::vector<std::pair<std::string, duration>> rows{{"30s", 30s},
                                                           {"500ms", 500ms},
                                                           {"2m", 2min},
                                                           {"1h", 1h},
                                                           {"30", 30s},
                                                           {"0", 0s},
                                                           {"0ms", 0s},
                                                           {"007s", 7s},
                                                           {"9223372036s", 9223372036s},
                                                           {"2562047h", 2562047h}};
  for (const auto& [text, expected] : rows) EXPECT_EQ(parse_duration(text), expected) << text;
}

TEST(url_values, anything_else_is_no_time) {
  using namespace std::string_literals;
  for (const auto& text : {""s,
                           "s"s,
                           "ms"s,
                           "-1s"s,
                           "+1s"s,
                           " 1s"s,
                           "1 s"s,
                           "1s "s,
                           "1.5s"s,
                           "0x10"s,
                           "1S"s,
                           "1sec"s,
                           "1d"s,
                           "1us"s,
                           "1m30s"s,
                           "1e3"s,
                           "nan"s,
                           "inf"s,
                           "1s\0"s,
                           "1\0s"s,
                           "9223372037s"s,
                           "9223372036855ms"s,
                           "2562048h"s,
                           "153722868m"s,
                           "18446744073709551616"s,
                           std::string(100, '9')}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << testing::PrintToString(text);
  }
}

TEST(url_values, bools_have_six_spellings) {
  for (const auto* text : {"1", "true", "yes"}) EXPECT_EQ(parse_bool(text), true);
  for (const auto* text : {"0", "false", "no"}) EXPECT_EQ(parse_bool(text), false);
  for (const auto* text : {"", "True", "on", "2", "y", " 1", "1 ", "01"}) {
    EXPECT_EQ(parse_bool(text), std::nullopt) << text;
  }
}

TEST(url_values, whole_numbers_are_decimal_and_fit_64_bits) {
  EXPECT_EQ(parse_unsigned("0"), 0U);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), 18446744073709551615U);
  for (const auto* text : {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "18446744073709551616"}) {
    EXPECT_EQ(parse_unsigned(text), std::nullopt) << text;
  }
}

TEST(url_values, a_taken_parameter_is_gone_and_an_absent_one_is_empty) {
  auto parsed = parse_url("redis://h?lease=2m&tls=yes&replicas=3");
  EXPECT_EQ(take_duration(parsed, "lease"), duration{2min});
  EXPECT_EQ(take_bool(parsed, "tls"), true);
  EXPECT_EQ(take_unsigned(parsed, "replicas", 3), 3U);
  EXPECT_TRUE(parsed.parameters.empty());
  EXPECT_EQ(take_duration(parsed, "lease"), std::nullopt);
  EXPECT_EQ(take_bool(parsed, "tls"), std::nullopt);
  EXPECT_EQ(take_unsigned(parsed, "replicas"), std::nullopt);
}

TEST(url_values, errors_name_the_parameter_and_not_the_value) {
  auto parsed = parse_url("redis://h?lease=secret1&tls=secret2&replicas=7");
  EXPECT_EQ(complaint([&] { take_duration(parsed, "lease"); }),
            "URL parameter \"lease\": expected a time such as 30s, 500ms, 2m or 1h: invalid URL");
  EXPECT_EQ(complaint([&] { take_bool(parsed, "tls"); }),
            "URL parameter \"tls\": expected 1, 0, true, false, yes or no: invalid URL");
  EXPECT_EQ(complaint([&] { take_unsigned(parsed, "replicas", 5); }),
            "URL parameter \"replicas\": expected a whole number from 0 to 5: invalid URL");
}

TEST(url_values, a_url_without_a_host_is_refused_where_one_is_needed) {
  EXPECT_NO_THROW(require_hosts(parse_url("redis://h")));
  for (const auto* text : {"redis:", "redis:h", "redis:/0", "redis:///0"}) {
    EXPECT_EQ(complaint([&] { require_hosts(parse_url(text)); }),
              "crosslock URL, byte offset 6: expected \"//\" and a host: invalid URL");
  }
}

}  // namespace
}  // namespace crosslock::seam
