// The same names are legal, and distinct, on every engine.
#include "conformance/fixture.hpp"

#include <algorithm>

namespace crosslock::conformance {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

CONFORMANCE_SUITE(names);

/// Every pair of them was taken for one name by some lock library.
constexpr std::string_view good_names[] = {"a",
                                           "A",
                                           "a ",
                                           " a",
                                           "lock",
                                           "Lock",
                                           "LOCK",
                                           "stock/sku-42",
                                           "stock//sku",
                                           "stock/",
                                           "/stock",
                                           "/",
                                           "//",
                                           ".",
                                           "..",
                                           "../etc/passwd",
                                           "a/./b",
                                           "a/../b",
                                           "a/b",
                                           "{tag}",
                                           "{tag}a",
                                           "a{tag}",
                                           "{",
                                           "}",
                                           "{}",
                                           "a:b",
                                           "*",
                                           "a*",
                                           "?",
                                           "[a]",
                                           "%",
                                           "%2f",
                                           "%00",
                                           "_",
                                           "a_b",
                                           "a%b",
                                           "'",
                                           "\"",
                                           "''",
                                           "'; DROP TABLE locks; --",
                                           "\\",
                                           "\\0",
                                           "\\n",
                                           "redis.call('DEL', KEYS[1])",
                                           "$1",
                                           "${HOME}",
                                           "`id`",
                                           "zookeeper",
                                           "zookeeper/a",
                                           "é",
                                           "e\xCC\x81",
                                           "É",
                                           "日本語",
                                           "\U0001F512",
                                           "\xEF\xBF\xBF",
                                           "\xEE\x80\x80",
                                           "ß",
                                           "ss",
                                           "crosslock",
                                           "crosslock:",
                                           "0",
                                           "00",
                                           "-1",
                                           "null"};

std::vector<std::string> all_good_names() {
  std::vector<std::string> all{std::begin(good_names), std::end(good_names)};
  all.push_back(std::string(512, 'x'));
  all.push_back(std::string(511, 'x'));
  all.push_back(std::string(511, 'x') + "y");
  return all;
}

TEST_P(names, legal_ones_are_distinct) {
  play([this] {
    const client locks = stage().connect();
    const client others = stage().connect();
    std::vector<std::string> legal = all_good_names();
    std::vector<std::unique_ptr<mutex>> objects;
    std::vector<hold> holds;
    for (const auto& name : legal) {
      objects.push_back(std::make_unique<mutex>(locks, name));
      auto held = objects.back()->try_acquire();
      ASSERT_TRUE(held) << "taken already: " << name;
      holds.push_back(*std::move(held));
    }
    for (const auto& name : legal) {
      mutex same{others, name};
      EXPECT_FALSE(same.try_lock()) << name;
      EXPECT_EQ(others.look(name).name, name);
      EXPECT_EQ(others.look(name).holders.size(), 1U) << name;
    }
    std::vector<std::string> listed;
    for (const lock_info& each : others.list()) listed.push_back(each.name);
    std::sort(legal.begin(), legal.end());
    EXPECT_EQ(listed, legal);  // in the order of their bytes
    for (auto& each : holds) EXPECT_EQ(each.release(), release_result::released);
  });
}

TEST_P(names, illegal_ones_are_refused_before_anything_is_sent) {
  play([this] {
    const client locks = stage().connect();
    const std::uint64_t before = stage().requests();
    const std::vector<std::string> bad{
        "",
        std::string(513, 'x'),
        "a\0b"s,
        "\0"s,
        "a\nb",
        "a\tb",
        "\x01",
        "\x1f",
        "\x7f",
        "\xC2\x85",  // a control character beyond ASCII
        "\xff",
        "\xC0\xAF",          // an overlong slash
        "\xED\xA0\x80",      // a surrogate
        "\xF4\x90\x80\x80",  // beyond Unicode
        "\xE2\x82",          // cut short
        "crosslock:{tag}",   // reserved
        "crosslock:{",
    };
    for (const auto& name : bad) {
      EXPECT_EQ(code_of([&] { mutex{locks, name}; }), errc::invalid_name) << name;
      EXPECT_EQ(code_of([&] { recursive_mutex{locks, name}; }), errc::invalid_name) << name;
      EXPECT_EQ(code_of([&] { locks.run(name, [] {}); }), errc::invalid_name) << name;
      EXPECT_EQ(code_of([&] { (void)locks.look(name); }), errc::invalid_name) << name;
      EXPECT_EQ(code_of([&] { (void)locks.break_lock(name, {}); }), errc::invalid_name) << name;
    }
    EXPECT_EQ(stage().requests(), before);
  });
}

TEST_P(names, a_prefix_keeps_programs_apart) {
  play([this] {
    const client plain = stage().connect();
    options how;
    how.prefix = "team/";
    const client team = stage().connect(how);
    mutex mine{team, "name"};
    mutex same{plain, "team/name"};
    mutex other{plain, "name"};
    const std::scoped_lock held{mine};
    EXPECT_FALSE(same.try_lock());
    EXPECT_TRUE(other.try_lock());
    EXPECT_EQ(team.look("name").name, "name");
    EXPECT_EQ(team.list().size(), 1U);
    EXPECT_EQ(team.list().at(0).name, "name");
    EXPECT_EQ(plain.list().size(), 2U);
    // The prefix counts, and does not make a bad name good.
    EXPECT_EQ(code_of([&] { mutex{team, std::string(510, 'x')}; }), errc::invalid_name);
    EXPECT_EQ(code_of([&] { mutex{team, ""}; }), errc::invalid_name);
    other.unlock();
  });
}

}  // namespace
}  // namespace crosslock::conformance
