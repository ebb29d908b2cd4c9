// What configuration files may say, and which word counts.
#include "cli/command.hpp"
#include "cli/config_file.hpp"
#include "cli/target.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

class scratch {
 public:
  scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "crosslock-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string refusal(std::string_view text) {
  try {
    parse_configuration(text, "f");
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::invalid_url) << text;
    return why.what();
  }
  return "";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(parse_configuration, keys_values_blanks_and_comments) {
  const configuration read = parse_configuration(
      "# url=memory:no\n\n \turl =  sqlite:a=b.db \r\nlease=5s\nprefix=\n", "conf");
  ASSERT_TRUE(read.url && read.lease && read.prefix);
  EXPECT_EQ(read.url->value, "sqlite:a=b.db");
  EXPECT_EQ(read.url->where, "conf:3");
  EXPECT_EQ(read.lease->value, "5s");
  EXPECT_EQ(read.prefix->value, "");
  EXPECT_EQ(read.prefix->where, "conf:5");
}

TEST(parse_configuration, nothing_says_nothing) {
  for (const char* const text : {"", "\n\n", "#", "  # url=x", "\r\n"}) {
    const configuration read = parse_configuration(text, "conf");
    EXPECT_FALSE(read.url || read.lease || read.prefix) << text;
  }
}

TEST(parse_configuration, a_last_line_needs_no_end) {
  EXPECT_EQ(parse_configuration("lease=5s", "f").lease->value, "5s");
}

TEST(parse_configuration, mistakes_are_told_with_their_line) {
  EXPECT_TRUE(has(refusal("\ncolor=red"), "f:2: there is no key 'color'"));
  EXPECT_TRUE(has(refusal("URL=memory:"), "'URL'"));
  EXPECT_TRUE(has(refusal("url"), "f:1: expected url="));
  EXPECT_TRUE(has(refusal("=x"), "f:1: expected url="));
  EXPECT_TRUE(has(refusal("url=a:\nlease=1s\nurl=b:"), "f:3: url= was given before, at f:1"));
  EXPECT_TRUE(has(refusal("lease="), "f:1: lease= has no value"));
  EXPECT_TRUE(has(refusal("url= \t"), "f:1: url= has no value"));
}

TEST(parse_configuration, no_password_is_shown) {
  for (const char* const text :
       {"redis://u:secret@h", "redis://u:secret@h?a=b", "url=redis://u:secret@h\nurl=redis://x",
        "uri=redis://u:secret@h", "secret word=1", "secret:=1"}) {
    EXPECT_NE(refusal(text), "");
    EXPECT_FALSE(has(refusal(text), "secret")) << refusal(text);
  }
}

TEST(read_configuration, later_files_come_before_earlier_ones_line_by_line) {
  const scratch dir;
  std::ofstream{dir.file("machine")} << "url=memory:m\nlease=1s\n";
  std::ofstream{dir.file("user")} << "lease=2s\nprefix=p\n";
  const configuration read =
      read_configuration({dir.file("machine"), dir.file("missing"), dir.file("user")});
  EXPECT_EQ(read.url->value, "memory:m");
  EXPECT_EQ(read.lease->value, "2s");
  EXPECT_EQ(read.lease->where, dir.file("user") + ":1");
  EXPECT_EQ(read.prefix->value, "p");
  EXPECT_LT(read.url->order, read.lease->order);
}

TEST(read_configuration, a_directory_is_refused_by_name) {
  const scratch dir;
  std::filesystem::create_directory(dir.file("conf"));
  try {
    read_configuration({dir.file("conf")});
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::invalid_url);
    EXPECT_TRUE(has(why.what(), dir.file("conf"))) << why.what();
  }
}

target_flags with_url(const std::string& url) {
  target_flags flags;
  flags.url = url;
  return flags;
}

/// With an environment of its own.
class find_target_case : public testing::Test {
 protected:
  static constexpr const char* ours[] = {"CROSSLOCK_URL", "CROSSLOCK_LEASE", "CROSSLOCK_PREFIX",
                                         "XDG_STATE_HOME"};
  void SetUp() override {
    for (const char* const each : ours) ::unsetenv(each);
    ::setenv("HOME", "/home/ann", 1);
  }
  void TearDown() override { SetUp(); }

  configuration machine_file(const std::string& text) {
    configuration read = parse_configuration(text, "m");
    for (auto* const each : {&read.url, &read.lease, &read.prefix}) {
      if (*each) (*each)->order = 1;
    }
    return read;
  }
};

TEST_F(find_target_case, the_default_is_a_file_in_the_home_directory) {
  const target found = find_target({}, {});
  EXPECT_EQ(found.source, "the default");
  EXPECT_TRUE(has(found.url, "/home/ann/.local/state/crosslock/locks.db")) << found.url;
  EXPECT_FALSE(found.how.lease || found.how.prefix);
}

TEST_F(find_target_case, without_a_home_the_flag_is_named) {
  ::unsetenv("HOME");
  try {
    find_target({}, {});
    FAIL();
  } catch (const error& why) {
    EXPECT_EQ(why.which(), errc::invalid_url);
    EXPECT_TRUE(has(why.what(), "--url")) << why.what();
  }
  EXPECT_EQ(find_target(with_url("memory:"), {}).url, "memory:");
}

TEST_F(find_target_case, flag_environment_file) {
  const configuration files = machine_file("url=memory:file\nlease=1s\nprefix=f/");
  EXPECT_EQ(find_target({}, files).url, "memory:file");
  EXPECT_EQ(find_target({}, files).source, "m:1");
  EXPECT_EQ(find_target({}, files).how.lease, 1s);
  EXPECT_EQ(find_target({}, files).how.prefix, "f/");
  for (const char* const each : ours) ::setenv(each, "memory:env", 1);
  EXPECT_EQ(find_target({}, files).url, "memory:env");
  // The library reads these by itself.
  EXPECT_FALSE(find_target({}, files).how.lease || find_target({}, files).how.prefix);
  const target flagged = find_target({.url = "memory:x", .prefix = "", .lease = "3"}, files);
  EXPECT_EQ(flagged.url, "memory:x");
  EXPECT_EQ(flagged.how.lease, 3s);
  EXPECT_EQ(flagged.how.prefix, "");
}

TEST_F(find_target_case, parameters_count_where_their_url_was_said) {
  configuration files = machine_file("url=memory:m?lease=2s&prefix=u/");
  EXPECT_FALSE(find_target({}, files).how.lease);  // the library takes them from the URL
  ::setenv("CROSSLOCK_LEASE", "4s", 1);
  EXPECT_EQ(find_target({}, files).how.lease, 4s);
  EXPECT_FALSE(find_target(with_url("memory:x?lease=3s"), files).how.lease);
  ::unsetenv("CROSSLOCK_LEASE");
  files.lease = configured{"5s", "user:1", 2};
  EXPECT_EQ(find_target({}, files).how.lease, 5s);
  files.lease->order = 1;
  EXPECT_FALSE(find_target({}, files).how.lease);
  EXPECT_FALSE(find_target(with_url("memory:x?lease=3s"), files).how.lease);
}

TEST_F(find_target_case, what_is_wrong_is_said_with_its_source) {
  const auto text_of_failure = [](const target_flags& flags, const configuration& files) {
    try {
      find_target(flags, files);
    } catch (const error& why) {
      EXPECT_EQ(why.which(), errc::invalid_url);
      return std::string{why.what()};
    }
    return std::string{};
  };
  const auto bad_url = text_of_failure({}, machine_file("url=redis://u:secret@[::1"));
  EXPECT_TRUE(has(bad_url, "m:1: ")) << bad_url;
  EXPECT_FALSE(has(bad_url, "secret")) << bad_url;
  const auto bad_lease = text_of_failure({}, machine_file("lease=soon"));
  EXPECT_TRUE(has(bad_lease, "m:1: ")) << bad_lease;
  EXPECT_TRUE(has(text_of_failure(with_url("nonsense"), {}), "--url: "));
  target_flags flags;
  flags.lease = "soon";
  EXPECT_THROW(find_target(flags, {}), usage_error);
  EXPECT_FALSE(has(find_target(with_url("redis://u:secret@h"), {}).shown(), "secret"));
}

}  // namespace
}  // namespace crosslock::cli
