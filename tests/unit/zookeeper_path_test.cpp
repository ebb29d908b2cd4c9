// Two names never meet in ZooKeeper's tree, and none stands in the line of another one.
#include "engines/zookeeper/path.hpp"

#include "engines/zookeeper/node_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {
namespace {

const std::string claim = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007";

TEST(zookeeper_path, the_table) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"stock", "/stock"},
      {"stock/sku-42", "/stock/sku-42"},
      {"A_z.0-9", "/A_z.0-9"},
      {"two words", "/two%20words"},
      {"100%", "/100%25"},
      {"%25", "/%2525"},
      {"\xc3\xa9", "/%C3%A9"},
      {"a:b", "/a%3Ab"},
      {"crosslock:", "/crosslock%3A"},
      {"/", "/%/%"},
      {"/a", "/%/a"},
      {"a/", "/a/%"},
      {"a//b", "/a/%/b"},
      {"%", "/%25"},
      {".", "/%2E"},
      {"..", "/%2E."},
      {"...", "/..."},
      {"a/./..", "/a/%2E/%2E."},
      {"zookeeper", "/%7Aookeeper"},
      {"zookeeper/quota", "/%7Aookeeper/quota"},
      {"zookeeper2", "/zookeeper2"},
      {"a/zookeeper", "/a/zookeeper"},
      {"locks", "/locks"},
      {"leases/a", "/leases/a"},
      {"a/locks", "/a/%6Cocks"},
      {"a/leases/b", "/a/%6Ceases/b"},
      {"a/locks2", "/a/locks2"},
      {"a/" + claim, "/a/%5F" + claim.substr(1)},
      {claim, "/%5F" + claim.substr(1)},
      {"a/lock-0000000001", "/a/%6Cock-0000000001"},
      {"a/lock-1", "/a/lock-1"},
      {"a/b c-lock-0000000001", "/a/%62%20c-lock-0000000001"},
      {"a/\xc3\xa9-lock-0000000001", "/a/%C3%A9-lock-0000000001"},
  };
  for (const auto& [name, path] : table) {
    EXPECT_EQ(path_of("", lock_name{name}), path);
    EXPECT_EQ(path_of("/ch/root", lock_name{name}), "/ch/root" + path);
    EXPECT_EQ(name_at("", path), name);
    EXPECT_EQ(name_at("/ch/root", "/ch/root" + path), name);
  }
}

TEST(zookeeper_path, names_of_crosslock_itself_have_a_path_as_well) {
  const auto name = lock_name::reserved("stripe", "a/b");
  EXPECT_EQ(path_of("", name), "/crosslock%3A%7Bstripe%7D%3Aa/b");
  EXPECT_EQ(name_at("", path_of("", name)), name.str());
}

TEST(zookeeper_path, what_no_name_gives_has_none) {
  for (const std::string path : {"",
                                 "/",
                                 "//",
                                 "/a/",
                                 "/a//b",
                                 "a",
                                 "/.",
                                 "/..",
                                 "/a/.",
                                 "/zookeeper",
                                 "/zookeeper/quota",
                                 "/a/locks",
                                 "/a/leases",
                                 "/a/lock-0000000001",
                                 "/%41",
                                 "/%4",
                                 "/%zz",
                                 "/%c3%a9",
                                 "/a%",
                                 "/%%",
                                 "/a%2Fb",
                                 "/%00",
                                 "/%0A",
                                 "/%C3",
                                 "/a b",
                                 "/a:b",
                                 "/crosslock:/cells/a",
                                 "/crosslock%3A%7B",
                                 "/a/%62"}) {
    EXPECT_EQ(name_at("", path), std::nullopt) << path;
  }
  EXPECT_EQ(name_at("/ch", "/chroot/a"), std::nullopt);
  EXPECT_EQ(name_at("/ch", "/ch"), std::nullopt);
  EXPECT_EQ(name_at("/ch", "/other/a"), std::nullopt);
  EXPECT_EQ(name_at("", "/" + std::string(513, 'a')), std::nullopt) << "too long for a name";
}

TEST(zookeeper_path, a_cell_is_one_segment) {
  const std::string cells = "/ch/crosslock:/cells/";
  EXPECT_EQ(cell_path("/ch", lock_name{"a/b c"}), cells + "a%2Fb%20c");
  EXPECT_EQ(cell_path("/ch", lock_name{"."}), cells + "%2E");
  EXPECT_EQ(cell_path("/ch", lock_name{".."}), cells + "%2E.");
  EXPECT_EQ(cell_path("/ch", lock_name{"/"}), cells + "%2F");
  EXPECT_EQ(cell_path("/ch", lock_name{"a/."}), cells + "a%2F.");
}

TEST(zookeeper_path, a_cell_has_its_name_back) {
  for (const std::string name : {"a", "a/b c", ".", "..", "/", "%", "a%2Fb", "\xc3\xa9", "locks"}) {
    EXPECT_EQ(cell_at("/ch", cell_path("/ch", lock_name{name})), lock_name{name});
    EXPECT_EQ(cell_at("", cell_path("/ch", lock_name{name})), std::nullopt);
  }
  for (const std::string path : {"", "/", "/ch", "/ch/a", "/ch/crosslock:/cells",
                                 "/ch/crosslock:/cells/", "/ch/crosslock:/cells/%", "/crosslock:/a",
                                 "/ch/crosslock:/sessions/0", "/ch/crosslock:/cells/%0A"}) {
    EXPECT_EQ(cell_at("/ch", path), std::nullopt) << path;
  }
}

TEST(zookeeper_path, ancestors_begin_at_the_top) {
  EXPECT_EQ(ancestors("/a"), (std::vector<std::string>{"/a"}));
  EXPECT_EQ(ancestors("/a/b/c"), (std::vector<std::string>{"/a", "/a/b", "/a/b/c"}));
}

/// Names of pieces that mean something to ZooKeeper, to lock libraries or to the encoding.
class nasty_names : public testing::Test {
 protected:
  std::string draw() {
    static const std::vector<std::string> pieces{"/",           "/",          "/",
                                                 "%",           "%2F",        "%2",
                                                 ".",           "..",         "a",
                                                 "7",           "0000000001", "-",
                                                 "_",           "locks",      "leases",
                                                 "zookeeper",   "lock-",      "-lock-",
                                                 "lease-",      "_c_",        "__lock__",
                                                 "__READ__",    "__WRIT__",   "__rlock__",
                                                 "-2147483648", "\xc3\xa9",   " ",
                                                 "x-",          "%6C",        "ocks",
                                                 "crosslock:",  "cells",      "\xe2\x82\xac",
                                                 "F",           claim};
    std::string name;
    for (auto count = number(1, 7); count > 0; --count) {
      name += pieces[number(0, pieces.size() - 1)];
    }
    return name;
  }
  std::size_t number(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution{low, high}(rng_);
  }

  std::mt19937_64 rng_{20261116};
};

/// What the server and the other names need of a path.
void expect_legal(const std::string& path) {
  ASSERT_TRUE(path.starts_with('/'));
  std::string_view rest = std::string_view{path}.substr(1);
  for (bool first = true;; first = false) {
    const std::string segment{rest.substr(0, rest.find('/'))};
    ASSERT_FALSE(segment.empty() || segment == "." || segment == "..") << path;
    ASSERT_FALSE(first ? segment == "zookeeper" : segment == "locks" || segment == "leases")
        << path;
    ASSERT_EQ(read_node(segment), std::nullopt) << path;
    ASSERT_EQ(segment.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789_.-%"),
              std::string::npos)
        << path;
    if (segment.size() == rest.size()) return;
    rest.remove_prefix(segment.size() + 1);
  }
}

TEST_F(nasty_names, never_meet_and_come_back) {
  std::map<std::string, std::string> name_of_path;
  std::map<std::string, std::string> name_of_cell;
  for (int round = 0; round < 50000; ++round) {
    const std::string name = draw();
    if (name.size() > lock_name::max_bytes) continue;
    const std::string path = path_of("", lock_name{name});
    expect_legal(path);
    if (HasFatalFailure()) return;
    ASSERT_EQ(name_of_path.emplace(path, name).first->second, name) << path;
    ASSERT_EQ(name_at("", path), name) << path;

    const std::string cell = cell_path("", lock_name{name});
    ASSERT_EQ(cell_at("", cell), lock_name{name}) << cell;
    ASSERT_EQ(std::ranges::count(cell, '/'), 3) << cell;
    ASSERT_EQ(name_of_cell.emplace(cell, name).first->second, name) << cell;
  }
  EXPECT_GT(name_of_path.size(), 30000U);
}

/// Whatever somebody else puts into the tree: either it has a name whose path it is, or none.
TEST_F(nasty_names, as_paths_have_the_name_that_gives_them_or_none) {
  int named = 0;
  for (int round = 0; round < 50000; ++round) {
    const std::string path = "/" + draw();
    if (const auto name = name_at("", path)) {
      ASSERT_EQ(path_of("", lock_name{*name}), path);
      ++named;
    }
  }
  EXPECT_GT(named, 1000);
}

}  // namespace
}  // namespace crosslock::zookeeper
