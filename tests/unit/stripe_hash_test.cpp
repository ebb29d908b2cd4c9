// The hash of stripes is a contract: these numbers were computed by another program, and never
// change.
#include <crosslock/striped_mutex.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace crosslock {
namespace {

TEST(stripe_hash, the_same_everywhere_and_for_ever) {
  EXPECT_EQ(stripe_hash(""), 0xefd01f60ba992926U);
  EXPECT_EQ(stripe_hash("a"), 0x82a2a958a9bece5bU);
  EXPECT_EQ(stripe_hash("alice"), 0x3507d047a67c08f4U);
  EXPECT_EQ(stripe_hash("bob"), 0xf6493629e5654ae0U);
  EXPECT_EQ(stripe_hash("user/42"), 0xab51e013121d86fdU);
  EXPECT_EQ(stripe_hash("schl\xc3\xbc"
                        "ssel"),
            0xf380f95126dfdca4U);
}

static_assert(stripe_hash("") == stripe_hash(std::string_view{}));
static_assert(stripe_hash("a") != stripe_hash("b"));
static_assert(stripe_hash(std::string_view{"\0", 1}) != stripe_hash(""));

/// How far the counts are from equal ones, in standard deviations of what chance would do.
double deviation(const std::vector<std::string>& keys, std::uint64_t stripes) {
  std::vector<double> counts(stripes);
  for (const std::string& key : keys) ++counts[stripe_hash(key) % stripes];
  const double mean = static_cast<double>(keys.size()) / static_cast<double>(stripes);
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - mean) * (count - mean) / mean;
  const auto freedom = static_cast<double>(stripes - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

TEST(stripe_hash, keys_that_people_use_are_spread_as_if_by_chance) {
  std::vector<std::string> numbers;
  std::vector<std::string> users;
  std::vector<std::string> padded;
  std::vector<std::string> bytes;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    numbers.push_back(std::to_string(i));
    users.push_back("user/" + std::to_string(i * 7));
    padded.push_back("order-" + std::string(8 - std::to_string(i).size(), '0') + std::to_string(i));
    bytes.push_back(std::string(reinterpret_cast<const char*>(&i), sizeof i));
  }
  for (const auto* keys : {&numbers, &users, &padded, &bytes}) {
    for (const std::uint64_t stripes : {2U, 3U, 16U, 64U, 100U, 1024U}) {
      EXPECT_LT(std::abs(deviation(*keys, stripes)), 4.5) << keys->front() << ' ' << stripes;
    }
  }
}

TEST(stripe_hash, every_bit_of_a_key_changes_half_of_the_hash) {
  for (std::size_t length = 1; length < 20; ++length) {
    const std::string key(length, 'k');
    for (std::size_t bit = 0; bit < length * 8; ++bit) {
      std::string other = key;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
      const int changed = __builtin_popcountll(stripe_hash(key) ^ stripe_hash(other));
      EXPECT_GE(changed, 12) << length << ' ' << bit;
      EXPECT_LE(changed, 52) << length << ' ' << bit;
    }
  }
}

}  // namespace
}  // namespace crosslock
