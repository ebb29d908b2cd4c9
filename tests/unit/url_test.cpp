#include "engine/url.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::seam {
namespace {

using namespace std::string_literals;
using host_list = std::vector<url::host>;
using parameter_list = std::vector<std::pair<std::string, std::string>>;

/// The text of the error, or nothing when the URL is legal.
std::optional<std::string> complaint(std::string_view text) {
  try {
    parse_url(text);
    return std::nullopt;
  } catch (const error& failure) {
    EXPECT_EQ(failure.which(), errc::invalid_url);
    return failure.what();
  }
}

struct good_url {
  std::string text;
  url expected;
  std::string redacted;  // empty: the text itself
};

url make(std::string scheme, host_list hosts, std::string path = {},
         parameter_list parameters = {}) {
  return {std::move(scheme),    "", std::nullopt, std::move(hosts), std::move(path),
          std::move(parameters)};
}

url with_user(url base, std::string user, std::optional<std::string> password) {
  base.user = std::move(user);
  base.password = std::move(password);
  return base;
}

void expect_parsed(const good_url& row) {
  SCOPED_TRACE(row.text);
  const auto parsed = parse_url(row.text);
  EXPECT_EQ(parsed.scheme, row.expected.scheme);
  EXPECT_EQ(parsed.user, row.expected.user);
  EXPECT_EQ(parsed.password, row.expected.password);
  EXPECT_EQ(parsed.hosts, row.expected.hosts);
  EXPECT_EQ(parsed.path, row.expected.path);
  EXPECT_EQ(parsed.parameters, row.expected.parameters);
  EXPECT_EQ(parsed.redacted(), row.redacted.empty() ? row.text : row.redacted);
  EXPECT_EQ(parse_url(parsed.redacted()).redacted(), parsed.redacted());
}

TEST(url, every_documented_form_is_parsed) {
  const std::vector<good_url> rows{
      {"redis://127.0.0.1:6379", make("redis", {{"127.0.0.1", 6379}}), ""},
      {"redis://localhost/3", make("redis", {{"localhost", {}}}, "/3"), ""},
      {"rediss://cache.example:6380", make("rediss", {{"cache.example", 6380}}), ""},
      {"redis+unix:///run/redis.sock", make("redis+unix", {}, "/run/redis.sock"), ""},
      {"redis+sentinel://h1,h2:26379/main/0",
       make("redis+sentinel", {{"h1", {}}, {"h2", 26379}}, "/main/0"), ""},
      {"redlock://h1,h2,h3:7000", make("redlock", {{"h1", {}}, {"h2", {}}, {"h3", 7000}}), ""},
      {"zk://h1:2181,h2:2181/ch/root", make("zk", {{"h1", 2181}, {"h2", 2181}}, "/ch/root"), ""},
      {"etcd://h1:2379,[2001:db8::1]:2379/p",
       make("etcd", {{"h1", 2379}, {"2001:db8::1", 2379}}, "/p"), ""},
      {"postgresql:///db", make("postgresql", {}, "/db"), ""},
      {"postgresql://%2Frun%2Fpg:5432/db", make("postgresql", {{"/run/pg", 5432}}, "/db"), ""},
      {"sqlite:relative.db", make("sqlite", {}, "relative.db"), ""},
      {"sqlite:dir/a%20b.db", make("sqlite", {}, "dir/a b.db"), ""},
      {"sqlite:///abs.db", make("sqlite", {}, "/abs.db"), ""},
      {"sqlite:/abs.db", make("sqlite", {}, "/abs.db"), "sqlite:///abs.db"},
      {"sqlite:////two.db", make("sqlite", {}, "//two.db"), ""},
      {"sqlite:m\xc3\xbc.db", make("sqlite", {}, "m\xc3\xbc.db"), "sqlite:m%C3%BC.db"},
      {"memory:", make("memory", {}), ""},
      {"memory:name", make("memory", {}, "name"), ""},
      {"memory:?lease=5s", make("memory", {}, "", {{"lease", "5s"}}), ""},
      {"MEMORY:", make("memory", {}), "memory:"},
      {"redis://[::1]", make("redis", {{"::1", {}}}), ""},
      {"redis://[fe80::1%25eth0]:1", make("redis", {{"fe80::1%eth0", 1}}), ""},
      {"redis://[::ffff:10.0.0.1]:65535", make("redis", {{"::ffff:10.0.0.1", 65535}}), ""},
      {"redis://h?b=2&a=1&c=", make("redis", {{"h", {}}}, "", {{"b", "2"}, {"a", "1"}, {"c", ""}}),
       ""},
      {"redis://h/0?prefix=a%26b/c=d%2B",
       make("redis", {{"h", {}}}, "/0", {{"prefix", "a&b/c=d+"}}), "redis://h/0?prefix=a%26b/c=d+"},
  };
  for (const auto& row : rows) expect_parsed(row);
}

TEST(url, user_and_password_are_decoded_and_the_password_is_never_shown) {
  const auto base = make("redis", {{"h", 1}}, "/0");
  const std::vector<good_url> rows{
      {"redis://ann@h:1/0", with_user(base, "ann", std::nullopt), ""},
      {"redis://ann:pw@h:1/0", with_user(base, "ann", "pw"), "redis://ann:***@h:1/0"},
      {"redis://:pw@h:1/0", with_user(base, "", "pw"), "redis://:***@h:1/0"},
      {"redis://ann:@h:1/0", with_user(base, "ann", ""), "redis://ann:***@h:1/0"},
      {"redis://a%3Ab:p%40s%2Fs%3F%23%25:x@h:1/0", with_user(base, "a:b", "p@s/s?#%:x"),
       "redis://a%3Ab:***@h:1/0"},
      {"redis://ann:p,q@h:1/0", with_user(base, "ann", "p,q"), "redis://ann:***@h:1/0"},
      {"redis://ann:%FF\xc3\xa4@h:1/0", with_user(base, "ann", "\xff\xc3\xa4"),
       "redis://ann:***@h:1/0"},
  };
  for (const auto& row : rows) expect_parsed(row);
}

TEST(url, parameters_that_carry_secrets_are_not_shown_either) {
  EXPECT_EQ(parse_url("pg://h/db?password=pw&SSLPassword=pw2&api_token=t&x=1").redacted(),
            "pg://h/db?password=***&SSLPassword=***&api_token=***&x=1");
}

struct bad_url {
  std::string text;
  std::size_t at;
  std::string expected;
};

void expect_refused(const std::vector<bad_url>& rows) {
  for (const auto& [text, at, expected] : rows) {
    const auto said = complaint(text);
    ASSERT_TRUE(said) << text;
    const auto whole = "byte offset " + std::to_string(at) + ": expected " + expected;
    EXPECT_NE(said->find(whole), std::string::npos) << text << "\n" << *said;
  }
}

TEST(url, a_bad_scheme_is_refused_by_position) {
  expect_refused({{"", 0, "a scheme"},
                  {":", 0, "a scheme"},
                  {"//host", 0, "a scheme"},
                  {"1redis://h", 0, "a scheme"},
                  {" redis://h", 0, "a scheme"},
                  {"\0redis://h"s, 0, "a scheme"},
                  {"redis", 5, "':' after the scheme"},
                  {"red is://h", 3, "':' after the scheme"},
                  {"re/dis://h", 2, "':' after the scheme"},
                  {"r\xc3\xa9s://h", 1, "':' after the scheme"}});
}

TEST(url, a_bad_host_is_refused_by_position) {
  expect_refused({{"redis://", 8, "a host"},
                  {"redis://?x=1", 8, "a host"},
                  {"redis://:6379", 8, "a host"},
                  {"redis://a@", 10, "a host"},
                  {"redis://a@/0", 10, "a host"},
                  {"redis://h1,,h2", 11, "a host"},
                  {"redis://h1,", 11, "a host"},
                  {"redis://,h1", 8, "a host"},
                  {"redis://a b", 9, "no such character here"},
                  {"redis://a%20b", 8, "a host of letters"},
                  {"redis://a%3A1", 8, "a host of letters"},
                  {"redis://m\xc3\xbc", 8, "a host of letters"},
                  {"redis://a%zz", 9, "two hexadecimal digits"},
                  {"redis://@h", 8, "a user"},
                  {"redis://[::1", 8, "']'"},
                  {"redis://[::1/0]", 8, "']'"},
                  {"redis://[]", 9, "an IPv6 address"},
                  {"redis://[1.2.3.4]", 9, "an IPv6 address"},
                  {"redis://[::1::2]", 9, "an IPv6 address"},
                  {"redis://[::1\0]"s, 9, "an IPv6 address"},
                  {"redis://[::1%eth0]", 12, "%25"},
                  {"redis://[::1%25]", 12, "%25"},
                  {"redis://[::1%25a:b]", 12, "%25"},
                  {"redis://[::1]x", 13, "':', ',', '/' or the end"},
                  {"redis://::1", 8, "a host"}});
}

TEST(url, a_bad_port_is_refused_by_position) {
  for (const auto* port : {"0", "65536", "99999999999999999999", "", "-1", "+1", "080", "6379x",
                           " 1", "1 ", "0x50", "1:2"}) {
    expect_refused({{"redis://h:"s + port, 10, "a port from 1 to 65535"},
                    {"redis://h:"s + port + "/0?a=b", 10, "a port from 1 to 65535"},
                    {"redis://h:"s + port + ",h2", 10, "a port from 1 to 65535"},
                    {"redis://[::1]:"s + port, 14, "a port from 1 to 65535"}});
  }
  EXPECT_EQ(complaint("redis://h:1"), std::nullopt);
  EXPECT_EQ(complaint("redis://h:65535"), std::nullopt);
}

TEST(url, a_bad_path_or_parameter_is_refused_by_position) {
  expect_refused({{"redis://h/a b", 11, "no such character here"},
                  {"redis://h/a\nb", 11, "no such character here"},
                  {"redis://h/a%0Ab", 11, "no control character"},
                  {"redis://h/a%00b", 11, "no control character"},
                  {"redis://h/%7F", 10, "no control character"},
                  {"redis://h/%", 10, "two hexadecimal digits"},
                  {"redis://h/%4", 10, "two hexadecimal digits"},
                  {"redis://h/%4?x=1", 10, "two hexadecimal digits"},
                  {"redis://h/a#b", 11, "no such character here"},
                  {"redis://h#b", 9, "no such character here"},
                  {"sqlite:a@b", 8, "no such character here"},
                  {"redis://h?", 10, "the name of a parameter"},
                  {"redis://h?=1", 10, "the name of a parameter"},
                  {"redis://h?a=1&", 14, "the name of a parameter"},
                  {"redis://h?a=1&&b=2", 14, "the name of a parameter"},
                  {"redis://h?a", 11, "'=' after"},
                  {"redis://h?a&b=1", 11, "'=' after"},
                  {"redis://h?a%41=1", 10, "a parameter name of letters"},
                  {"redis://h?a=1&a=2", 14, "each parameter only once"},
                  {"redis://h?a=1&b=2&a=1", 18, "each parameter only once"},
                  {"redis://h?a=1?b=2", 13, "no such character here"},
                  {"redis://h?a=%0d", 12, "no control character"},
                  {"redis://h?a=\x7f", 12, "no such character here"},
                  {"redis://h?a=1#x", 13, "no such character here"}});
}

TEST(url, a_url_has_at_most_64_kibibytes_and_64_parameters) {
  const auto start = "sqlite:"s;
  EXPECT_EQ(complaint(start + std::string(65536 - start.size(), 'x')), std::nullopt);
  expect_refused({{start + std::string(65537 - start.size(), 'x'), 65536, "the end"},
                  {start + std::string(std::size_t{1} << 20, 'x'), 65536, "the end"}});
  auto many = "memory:?p0=1"s;
  for (int i = 1; i < 64; ++i) many += "&p" + std::to_string(i) + "=1";
  EXPECT_EQ(complaint(many), std::nullopt);
  expect_refused({{many + "&p64=1", many.size() + 1, "at most 64 parameters"}});
}

TEST(url, a_parameter_can_be_taken_once) {
  auto parsed = parse_url("redis://h?a=1&b=2&c=3");
  EXPECT_EQ(parsed.take("b"), "2");
  EXPECT_EQ(parsed.take("b"), std::nullopt);
  EXPECT_EQ(parsed.take("B"), std::nullopt);
  EXPECT_EQ(parsed.parameters, (parameter_list{{"a", "1"}, {"c", "3"}}));
}

TEST(url, a_parameter_nobody_took_is_named) {
  auto parsed = parse_url("redis://u:pw@h?leese=1&b=2");
  try {
    refuse_leftovers(parsed);
    FAIL() << "must throw";
  } catch (const error& failure) {
    EXPECT_EQ(failure.which(), errc::invalid_url);
    EXPECT_STREQ(failure.what(),
                 "unknown parameter \"leese\" in a URL of scheme \"redis\": invalid URL");
  }
  parsed.take("leese");
  parsed.take("b");
  EXPECT_NO_THROW(refuse_leftovers(parsed));
}

}  // namespace
}  // namespace crosslock::seam
