// Where a receipt comes from, and how it is written down for shells.
#include "cli/command.hpp"
#include "cli/receipt_io.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

const std::string owner(32, 'a');
const std::string good = "crosslock1:redis:" + owner + ":42s:a%20b";

receipt read(const std::vector<std::string>& given, const std::string& input = "") {
  std::istringstream in{input};
  return read_receipt(given, in);
}

TEST(cli_receipt_io, a_word_goes_before_a_pipe_and_that_before_the_environment) {
  unsetenv("CROSSLOCK_RECEIPT");
  EXPECT_THROW(read({}), usage_error);
  EXPECT_EQ(read({good}).to_string(), good);
  EXPECT_EQ(read({"-"}, good + " \r\nmore\n").to_string(), good);
  EXPECT_THROW(read({"-"}, ""), usage_error);
  EXPECT_THROW(read({good, good}), usage_error);
  setenv("CROSSLOCK_RECEIPT", good.c_str(), 1);
  EXPECT_EQ(read({}).to_string(), good);
  EXPECT_THROW(read({"-"}, ""), usage_error);
  EXPECT_THROW(read({""}), usage_error);
  unsetenv("CROSSLOCK_RECEIPT");
}

TEST(cli_receipt_io, what_is_wrong_with_one_is_said_without_quoting_it) {
  try {
    (void)read({"crosslock1:redis:" + owner + "b:42:a"});
    FAIL() << "accepted";
  } catch (const usage_error& why) {
    EXPECT_EQ(std::string{why.what()}.find("aaa"), std::string::npos) << why.what();
    EXPECT_NE(std::string{why.what()}.find("offset 17"), std::string::npos) << why.what();
  }
}

TEST(cli_receipt_io, values_are_quoted_where_a_shell_would_take_them_apart) {
  EXPECT_EQ(quoted_value("a-b_c.d/e:1%20@x+"), "a-b_c.d/e:1%20@x+");
  EXPECT_EQ(quoted_value(""), "\"\"");
  EXPECT_EQ(quoted_value("a b"), "\"a b\"");
  EXPECT_EQ(quoted_value("it's"), "\"it's\"");
  EXPECT_EQ(quoted_value(R"(\ $x `y` "z" ~)"), R"("\\ \$x \`y\` \"z\" ~")");
}

TEST(cli_receipt_io, each_form_has_all_there_is_to_know) {
  const receipt given = receipt::parse(good);
  EXPECT_EQ(shown(given, "a b", 30s, receipt_format::bare), good + "\n");
  EXPECT_EQ(shown(given, "a b", 30s, receipt_format::env),
            "CROSSLOCK_RECEIPT=" + good + "\nCROSSLOCK_NAME=\"a b\"\nCROSSLOCK_FENCE=42\n" +
                "CROSSLOCK_OWNER_ID=" + owner + "\nCROSSLOCK_ENGINE=redis\n");
  EXPECT_EQ(shown(given, "a b", 1500ms, receipt_format::json),
            R"({"receipt":")" + good + R"(","name":"a b","fence":"42","owner_id":")" + owner +
                R"(","engine":"redis","mode":"shared","lease_ms":1500})" + "\n");
}

TEST(cli_receipt_io, where_locks_end_with_their_process_there_are_no_receipts) {
  const auto at = [](std::string url) { return target{std::move(url), "--url", {}}; };
  EXPECT_NO_THROW(require_receipts(at("redis://h")));
  EXPECT_NO_THROW(require_receipts(at("sqlite:x.db")));
  EXPECT_NO_THROW(require_receipts(at("rediss://h"), receipt::parse(good)));
  const auto code_of = [](auto call) {
    try {
      call();
    } catch (const error& why) {
      return why.which();
    }
    return errc{};
  };
  EXPECT_EQ(code_of([&] { require_receipts(at("memory:")); }), errc::unsupported);
  EXPECT_EQ(code_of([&] { require_receipts(at("redlock://h")); }), errc::unsupported);
  EXPECT_EQ(code_of([&] { require_receipts(at("nothing://h")); }), errc::invalid_url);
  EXPECT_EQ(code_of([&] { require_receipts(at("sqlite:x.db"), receipt::parse(good)); }),
            errc::conflict);
}

}  // namespace
}  // namespace crosslock::cli
