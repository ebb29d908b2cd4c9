// What a redis URL means, and which ones are refused.
#include "engines/redis/address.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crosslock::redis {
namespace {

address read(const std::string& text) {
  seam::url url = seam::parse_url(text);
  address got = read_address(url);
  seam::refuse_leftovers(url);
  return got;
}

TEST(redis_address, is_shown_in_full_and_without_secrets) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"redis://10.0.0.5", "redis://10.0.0.5:6379/0"},
      {"redis://10.0.0.5/", "redis://10.0.0.5:6379/0"},
      {"redis://10.0.0.5:7000/2", "redis://10.0.0.5:7000/2"},
      {"redis://h/2147483647", "redis://h:6379/2147483647"},
      {"redis://ann:secret@h/1", "redis://h:6379/1"},
      {"redis://:secret@[::1]:7", "redis://[::1]:7/0"},
      {"rediss://h", "rediss://h:6379/0"},
      {"rediss://h?ca=/a.pem&cert=b&key=c&server_name=d", "rediss://h:6379/0"},
      {"redis+unix:///run/a%20b.sock", "redis+unix:///run/a%20b.sock"},
      {"redis+unix:///run/r.sock?db=3", "redis+unix:///run/r.sock?db=3"},
      {"redis+unix:///r.sock?user=ann&password=secret", "redis+unix:///r.sock"},
  };
  for (const auto& [url, shown] : rows) EXPECT_EQ(read(url).shown(), shown) << url;
}

TEST(redis_address, has_everything_that_the_url_says) {
  const address got = read("rediss://ann:s%40cret@db.example:1/9?ca=A&cert=C&key=K&server_name=N");
  EXPECT_EQ(got.host, "db.example");
  EXPECT_EQ(got.port, 1);
  EXPECT_EQ(got.unix_path, "");
  EXPECT_TRUE(got.tls);
  EXPECT_EQ(got.user, "ann");
  EXPECT_EQ(got.password, "s@cret");
  EXPECT_EQ(got.database, 9u);
  EXPECT_EQ(got.ca_file, "A");
  EXPECT_EQ(got.cert_file, "C");
  EXPECT_EQ(got.key_file, "K");
  EXPECT_EQ(got.certified_name(), "N");
  EXPECT_EQ(read("rediss://db.example").certified_name(), "db.example");
}

TEST(redis_address, of_a_socket_takes_its_credentials_as_parameters) {
  const address got = read("redis+unix:///run/r.sock?db=3&user=ann&password=s%26cret");
  EXPECT_EQ(got.unix_path, "/run/r.sock");
  EXPECT_EQ(got.host, "");
  EXPECT_FALSE(got.tls);
  EXPECT_EQ(got.database, 3u);
  EXPECT_EQ(got.user, "ann");
  EXPECT_EQ(got.password, "s&cret");
}

TEST(redis_address, a_password_from_a_file_serves_a_socket_unless_the_url_has_one) {
  for (const auto& [text, expected] : std::vector<std::pair<std::string, std::string>>{
           {"redis+unix:///r", "filed"}, {"redis+unix:///r?password=own", "own"}}) {
    seam::url url = seam::parse_url(text);
    url.password = "filed";  // as opening.cpp does
    EXPECT_EQ(read_address(url).password, expected);
  }
}

TEST(redis_address, knows_whether_there_is_something_to_authenticate_with) {
  EXPECT_FALSE(read("redis://h").has_credentials());
  EXPECT_TRUE(read("redis://ann@h").has_credentials());
  EXPECT_TRUE(read("redis://:secret@h").has_credentials());
}

TEST(redis_address, refuses_what_it_does_not_understand_and_says_what_to_write) {
  const std::string path_108 = '/' + std::string(107, 'x');
  const std::vector<std::pair<std::string, std::string>> rows{
      {"redis:", "a host"},
      {"redis:///3", "a host"},
      {"redis://a,b", "name the primary itself"},
      {"rediss://a:1,b:2", "name the primary itself"},
      {"redis://%2Frun%2Fr.sock", "redis+unix:///"},
      {"redis://h/x", "from 0 to 2147483647"},
      {"redis://h/-1", "from 0 to 2147483647"},
      {"redis://h/+1", "from 0 to 2147483647"},
      {"redis://h/1%20", "from 0 to 2147483647"},
      {"redis://h/01", "from 0 to 2147483647"},
      {"redis://h/1/", "from 0 to 2147483647"},
      {"redis://h//1", "from 0 to 2147483647"},
      {"redis://h/2147483648", "from 0 to 2147483647"},
      {"redis://h/18446744073709551616", "from 0 to 2147483647"},
      {"redis://h?ca=x", "the parameter ca is about TLS: write rediss://"},
      {"redis://h?cert=x&key=y", "the parameter cert is about TLS"},
      {"redis+unix:///r?server_name=x", "the parameter server_name is about TLS"},
      {"rediss://h?cert=x", "cert and key"},
      {"rediss://h?key=x", "cert and key"},
      {"rediss://h?ca=", "the parameter ca is empty"},
      {"rediss://h?db=1", "unknown parameter \"db\""},
      {"redis://h?user=ann", "unknown parameter \"user\""},
      {"redis+unix://h/r.sock", "three slashes"},
      {"redis+unix:r.sock", "absolute path"},
      {"redis+unix:", "absolute path"},
      {"redis+unix://" + path_108, "at most 107 bytes"},
      {"redis+unix:///r?db=x", "from 0 to 2147483647"},
      {"redis+unix:///r?db=", "from 0 to 2147483647"},
      {"redis+unix:///r?user=", "the parameter user is empty"},
  };
  for (const auto& [url, expected] : rows) {
    SCOPED_TRACE(url);
    try {
      (void)read(url);
      ADD_FAILURE() << "was accepted";
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::invalid_url);
      EXPECT_NE(std::string{why.what()}.find(expected), std::string::npos) << why.what();
    }
  }
}

TEST(redis_address, a_refusal_does_not_quote_the_password) {
  for (const char* const url : {"redis://ann:qzwx@h/x", "redis://ann:qzwx@a,b",
                                "redis+unix:///r?password=qzwx&db=x", "redis://a:qzwx@h?ca=x"}) {
    try {
      (void)read(url);
      ADD_FAILURE() << url;
    } catch (const error& why) {
      EXPECT_EQ(std::string{why.what()}.find("qzwx"), std::string::npos) << why.what();
    }
  }
}

}  // namespace
}  // namespace crosslock::redis
