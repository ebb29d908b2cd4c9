// Side keys lie in the slot of the name itself, whatever the name looks like.
#include "engines/redis/slot.hpp"

#include "engines/redis/protocol.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace crosslock::redis {
namespace {

TEST(redis_slot, is_counted_as_redis_counts_it) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3);  // the check value of this CRC
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("somekey"), 11058);
  EXPECT_EQ(slot_of("foo{hash_tag}"), 2515);
  EXPECT_EQ(slot_of("bar{hash_tag}"), 2515);
}

TEST(redis_slot, every_slot_has_a_tag_of_its_own) {
  std::set<std::string> seen;
  for (std::uint16_t slot = 0; slot < 16384; ++slot) {
    const std::string tag{tag_of(slot)};
    EXPECT_EQ(slot_of(tag), slot);
    EXPECT_EQ(tag.find_first_of("{}"), std::string::npos);
    seen.insert(tag);
  }
  EXPECT_EQ(seen.size(), 16384U);
}

TEST(redis_slot, side_keys_lie_beside_their_name) {
  const std::string long_name(512, 'x');
  for (const std::string name :
       {"stock", "stock/sku-42", "{",        "}",          "{}",
        "{}a",   "a{}",          "{a",       "a}",         "}a{",
        "{a}",   "{a}{b}",       "a{b}c",    "a{{b}}c",    "{{}",
        "{}}",   "{}{b}",        "a{b",      "crosslock:", "crosslock:x:{y}",
        "a b",   "a*?[x]",       "\xc3\xa9", "a:b:c",      long_name.c_str()}) {
    for (const std::string_view kind : {"fence", "line", "wait", "in", "pause", "run", "cell"}) {
      const std::string key = side_key(kind, name);
      EXPECT_EQ(slot_of(key), slot_of(name)) << key;
      EXPECT_EQ(name_in_side_key(kind, key), name);
      EXPECT_EQ(name_in_side_key("other", key), "");
    }
  }
}

TEST(redis_slot, distinct_names_have_distinct_side_keys) {
  EXPECT_NE(side_key("in", "a"), side_key("line", "a"));
  EXPECT_NE(side_key("in", "e:a"), side_key("ine", "a"));
  EXPECT_EQ(name_in_side_key("fence", "crosslock:{zzz}:fence:stock"), "")
      << "a tag of another slot";
  EXPECT_EQ(name_in_side_key("fence", "crosslock:{"), "");
}

}  // namespace
}  // namespace crosslock::redis
