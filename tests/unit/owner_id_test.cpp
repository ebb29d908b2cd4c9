#include <crosslock/owner_id.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace crosslock {
namespace {

constexpr auto digits = "00112233445566778899aabbccddeeff";

TEST(owner_id, it_is_written_as_32_lower_case_digits) {
  owner_id::bytes_type bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  EXPECT_EQ(owner_id{bytes}.to_string(), digits);
}

TEST(owner_id, what_is_written_is_read_back) {
  std::mt19937_64 random{1};
  for (int round = 0; round < 1000; ++round) {
    owner_id::bytes_type bytes{};
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const owner_id id{bytes};
    EXPECT_EQ(owner_id::parse(id.to_string()), id);
  }
}

TEST(owner_id, nobody_is_all_zero) {
  EXPECT_TRUE(owner_id{}.nobody());
  EXPECT_EQ(owner_id{}.to_string(), std::string(32, '0'));
  EXPECT_EQ(owner_id::parse(std::string(32, '0')), owner_id{});
  EXPECT_FALSE(owner_id::parse(digits).value().nobody());
}

TEST(owner_id, any_other_spelling_is_refused) {
  const std::string good = digits;
  for (const auto& text :
       {std::string{}, good.substr(1), good + "0", "0x" + good.substr(2), " " + good.substr(1),
        good.substr(1) + "\n", good.substr(1) + "g", "A" + good.substr(1), "-" + good.substr(1),
        std::string(32, '\0'), std::string(32, '\xff')}) {
    EXPECT_FALSE(owner_id::parse(text)) << testing::PrintToString(text);
  }
}

TEST(owner_id, order_is_the_order_of_the_text) {
  std::mt19937_64 random{2};
  owner_id before;
  for (int round = 0; round < 1000; ++round) {
    owner_id::bytes_type bytes{};
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const owner_id id{bytes};
    EXPECT_EQ(before < id, before.to_string() < id.to_string());
    before = id;
  }
}

}  // namespace
}  // namespace crosslock
