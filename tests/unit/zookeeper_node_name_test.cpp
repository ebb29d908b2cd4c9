// Claims of every library are read, and stand in the order in which the server took them.
#include "engines/zookeeper/node_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {
namespace {

constexpr std::int32_t highest = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();

const owner_id owner = *owner_id::parse("0123456789abcdef0123456789abcdef");
const std::string uuid = "01234567-89ab-cdef-0123-456789abcdef";
const std::string hex = "0123456789abcdef0123456789abcdef";

TEST(zookeeper_node_name, ours_are_those_of_the_fleet) {
  const auto curator = [](node_kind kind) { return new_node(naming::curator, kind, owner, 3); };
  EXPECT_EQ(curator(node_kind::mutex), "_c_" + uuid + "-lock-");
  EXPECT_EQ(curator(node_kind::writer), "_c_" + uuid + "-__WRIT__");
  EXPECT_EQ(curator(node_kind::reader), "_c_" + uuid + "-__READ__");
  EXPECT_EQ(curator(node_kind::permits), "_c_" + uuid + "-p3-lock-");
  EXPECT_EQ(curator(node_kind::lease), "_c_" + uuid + "-lease-");
  const auto kazoo = [](node_kind kind) { return new_node(naming::kazoo, kind, owner, 3); };
  EXPECT_EQ(kazoo(node_kind::mutex), hex + "__lock__");
  EXPECT_EQ(kazoo(node_kind::writer), hex + "__lock__");
  EXPECT_EQ(kazoo(node_kind::reader), hex + "__rlock__");
  EXPECT_EQ(kazoo(node_kind::permits), curator(node_kind::permits));
  EXPECT_EQ(kazoo(node_kind::lease), curator(node_kind::lease));
}

// What Java's "%010d" gives.
TEST(zookeeper_node_name, the_server_appends_ten_characters_or_eleven) {
  EXPECT_EQ(sequenced("a", 0), "a0000000000");
  EXPECT_EQ(sequenced("a", 42), "a0000000042");
  EXPECT_EQ(sequenced("a", highest), "a2147483647");
  EXPECT_EQ(sequenced("a", lowest), "a-2147483648");
  EXPECT_EQ(sequenced("a", -1000000000), "a-1000000000");
  EXPECT_EQ(sequenced("a", -999999999), "a-999999999");
  EXPECT_EQ(sequenced("a", -1), "a-000000001");
}

TEST(zookeeper_node_name, what_was_written_is_read) {
  for (const auto how : {naming::curator, naming::kazoo}) {
    for (const auto kind : {node_kind::mutex, node_kind::writer, node_kind::reader,
                            node_kind::permits, node_kind::lease}) {
      for (const std::int32_t sequence :
           {0, 1, 999999999, 1000000000, highest, lowest, -1000000000, -999999999, -1}) {
        const std::string name = sequenced(new_node(how, kind, owner, 7), sequence);
        const auto found = read_node(name);
        ASSERT_TRUE(found) << name;
        EXPECT_EQ(found->name, name);
        const bool kazoo_writer = how == naming::kazoo && kind == node_kind::writer;
        EXPECT_EQ(found->kind, kazoo_writer ? node_kind::mutex : kind) << name;
        EXPECT_EQ(found->sequence, sequence) << name;
        EXPECT_EQ(found->owner(), owner) << name;
        EXPECT_EQ(found->permits, kind == node_kind::permits ? 7 : 1) << name;
      }
    }
  }
}

TEST(zookeeper_node_name, a_downgraded_reader_has_its_writers_place) {
  const std::string name = reader_in_place_of(naming::curator, owner, 17);
  EXPECT_EQ(name, "_c_" + uuid + "-__READ__0000000017");
  EXPECT_EQ(read_node(name)->kind, node_kind::reader);
  EXPECT_EQ(reader_in_place_of(naming::kazoo, owner, -1), hex + "__rlock__-000000001");
}

TEST(zookeeper_node_name, claims_of_others_are_claims) {
  struct row {
    std::string name;
    node_kind kind;
    std::int32_t sequence;
    std::optional<owner_id> owner;
  };
  for (const row& one : std::vector<row>{
           {"lock-0000000003", node_kind::mutex, 3, {}},
           {"lock--000000003", node_kind::mutex, -3, {}},
           {"lock--2147483648", node_kind::mutex, lowest, {}},
           {"_c_" + hex + "-lock-0000000003", node_kind::mutex, 3, owner},
           {"_c_someone-lock-0000000003", node_kind::mutex, 3, {}},
           {"_c_" + uuid + "-p0-lock-0000000003", node_kind::mutex, 3, {}},
           {"_c_" + uuid + "-p03-lock-0000000003", node_kind::mutex, 3, {}},
           {"_c_" + uuid + "-p2147483648-lock-0000000003", node_kind::mutex, 3, {}},
           {"__READ__0000000003", node_kind::reader, 3, {}},
           {"any__WRIT__0000000003", node_kind::writer, 3, {}},
           {"someone__lock__0000000003", node_kind::mutex, 3, {}},
           {hex + "__lock__-2147483648", node_kind::mutex, lowest, owner},
           {hex + "__lock__-1000000005", node_kind::mutex, -1000000005, owner},
           {"x-00000dead00beef0-0000000003", node_kind::mutex, 3, {}},
           {"x-72057594037927936-0000000003", node_kind::mutex, 3, {}},
           {"x--72057594037927936--2147483648", node_kind::mutex, lowest, {}},
           {"lease-0000000003", node_kind::lease, 3, {}},
       }) {
    const auto found = read_node(one.name);
    ASSERT_TRUE(found) << one.name;
    EXPECT_EQ(found->name, one.name);
    EXPECT_EQ(found->kind, one.kind) << one.name;
    EXPECT_EQ(found->sequence, one.sequence) << one.name;
    EXPECT_EQ(found->owner(), one.owner) << one.name;
    EXPECT_EQ(found->permits, 1) << one.name;
  }
}

TEST(zookeeper_node_name, everything_else_is_no_claim) {
  for (const std::string name : {"",
                                 "a",
                                 "locks",
                                 "leases",
                                 "0000000001",
                                 "lock-",
                                 "lock-1",
                                 "lock-000000001",
                                 "lock-00000000001",
                                 "lock-2147483648",
                                 "lock-9999999999",
                                 "lock--2147483649",
                                 "lock--000000000",
                                 "lock--00000000001",
                                 "lock-000000000x",
                                 "lock0000000001",
                                 "clock-0000000001",
                                 "release-0000000001",
                                 "latch-0000000001",
                                 "__lock__",
                                 "x-0000000001",
                                 "x--0000000001",
                                 "x-g-0000000001",
                                 "xx-1-0000000001",
                                 "__READ__1",
                                 "__read__0000000001",
                                 "%5Fc_a-lock-0000000001",
                                 "%6Cock-0000000001"}) {
    EXPECT_EQ(read_node(name), std::nullopt) << name;
  }
}

std::vector<std::int32_t> sequences(const std::vector<node>& line) {
  std::vector<std::int32_t> found;
  for (const node& one : line) found.push_back(one.sequence);
  return found;
}

std::vector<node> line_of(const std::vector<std::string>& children) {
  const std::vector<std::string_view> views{children.begin(), children.end()};
  return read_line(views);
}

std::vector<std::string> locks(const std::vector<std::int32_t>& sequences) {
  std::vector<std::string> names;
  for (const auto one : sequences) names.push_back(sequenced("lock-", one));
  return names;
}

TEST(zookeeper_line, is_in_order_of_sequence_also_where_it_wraps) {
  for (const std::vector<std::int32_t>& expected : std::vector<std::vector<std::int32_t>>{
           {},
           {0},
           {7},
           {lowest},
           {0, 1},
           {1, 5, 9},
           {highest - 1, highest, lowest, lowest + 1},
           {highest, lowest},
           {5, highest, lowest},
           {0, highest},
           {lowest, -1, 0},
           {-2, -1, 0, 1},
           {-1000000001, -1000000000, -999999999},
           {1, highest, lowest},
           {highest - 5, lowest, -3},
       }) {
    auto children = locks(expected);
    std::ranges::sort(children);
    do {
      ASSERT_EQ(sequences(line_of(children)), expected);
    } while (std::ranges::next_permutation(children).found);
  }
}

TEST(zookeeper_line, a_window_that_goes_round_the_circle_keeps_its_order) {
  std::mt19937 rng{20261116};
  for (int round = 0; round < 2000; ++round) {
    auto at = static_cast<std::uint32_t>(rng());
    std::vector<std::int32_t> expected;
    for (int count = 0; count < 20; ++count) {
      expected.push_back(static_cast<std::int32_t>(at));
      at += 1 + static_cast<std::uint32_t>(rng()) % 100'000'000;
    }
    auto children = locks(expected);
    std::ranges::shuffle(children, rng);
    ASSERT_EQ(sequences(line_of(children)), expected);
  }
}

TEST(zookeeper_line, holds_claims_of_all_libraries_and_nothing_else) {
  const std::vector<std::string> children{
      hex + "__rlock__0000000009",
      "leases",
      "sku-42",
      "_c_" + uuid + "-lease-0000000001",
      "_c_" + uuid + "-p2-lock-0000000004",
      "%6Cock-0000000002",
      "_c_" + uuid + "-__WRIT__0000000003",
      "locks",
  };
  std::vector<node_kind> kinds;
  for (const node& one : line_of(children)) kinds.push_back(one.kind);
  EXPECT_EQ(kinds, (std::vector{node_kind::writer, node_kind::permits, node_kind::reader}));
}

TEST(zookeeper_line, while_both_stand_a_writer_comes_before_its_downgraded_self) {
  std::vector<std::string> children{"a-__READ__0000000003", "z-__WRIT__0000000003",
                                    "b-__READ__0000000003", "c-__WRIT__0000000004"};
  std::ranges::sort(children);
  do {
    std::vector<std::string> names;
    for (const node& one : line_of(children)) names.emplace_back(one.name);
    ASSERT_EQ(names, (std::vector<std::string>{"z-__WRIT__0000000003", "a-__READ__0000000003",
                                               "b-__READ__0000000003", "c-__WRIT__0000000004"}));
  } while (std::ranges::next_permutation(children).found);
}

TEST(zookeeper_line, only_readers_share) {
  const auto mode = [](node_kind kind) { return demand_of(node{.kind = kind}).mode; };
  EXPECT_EQ(mode(node_kind::reader), claim_mode::shared);
  for (const auto kind : {node_kind::mutex, node_kind::writer, node_kind::permits}) {
    EXPECT_EQ(mode(kind), claim_mode::exclusive);
  }
}

TEST(zookeeper_node_name, whoever_does_not_know_our_claims_is_a_stranger) {
  const std::string random = "0123456789ab4def8123456789abcdef";  // as uuid4() draws them
  const std::string uuid = "01234567-89ab-4def-8123-456789abcdef";
  const std::string ours = "01234567-89ab-cdef-0123-456789abcdef";
  struct row {
    naming how;
    node_kind kind;
    std::string child;
    bool strange;
  };
  const auto curators = naming::curator;
  for (const row& each : {
           row{curators, node_kind::mutex, "_c_" + uuid + "-lock-0000000001", false},
           row{curators, node_kind::mutex, "_c_" + uuid + "-__READ__0000000001", true},
           row{curators, node_kind::mutex, "_c_" + uuid + "-__WRIT__0000000001", true},
           row{curators, node_kind::mutex, "_c_" + ours + "-__READ__0000000001", false},
           row{curators, node_kind::writer, "_c_" + uuid + "-__READ__0000000001", false},
           row{curators, node_kind::writer, "_c_" + uuid + "-lock-0000000001", true},
           row{curators, node_kind::reader, "lock-0000000001", true},
           row{curators, node_kind::reader, "_c_" + ours + "-lock-0000000001", false},
           row{curators, node_kind::mutex, random + "__lock__0000000001", true},
           row{curators, node_kind::mutex, "x-123-0000000001", false},
           row{naming::kazoo, node_kind::mutex, random + "__lock__0000000001", false},
           row{naming::kazoo, node_kind::mutex, random + "__rlock__0000000001", false},
           row{naming::kazoo, node_kind::reader, "_c_" + uuid + "-lock-0000000001", true},
           row{curators, node_kind::mutex, random, true},
           row{curators, node_kind::permits, random, true},
           row{curators, node_kind::permits, "_c_" + uuid + "-lock-0000000001", false},
           row{curators, node_kind::mutex, "_c_" + uuid + "-latch-0000000001", true},
           row{curators, node_kind::mutex, "latch-0000000001", false},
           row{curators, node_kind::mutex, "sku-42", false},
       }) {
    EXPECT_EQ(!stranger(each.how, each.kind, each.child).empty(), each.strange) << each.child;
  }
}

}  // namespace
}  // namespace crosslock::zookeeper
