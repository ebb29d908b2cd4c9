#include <crosslock/error.hpp>
#include <crosslock/receipt.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace crosslock {
namespace {

constexpr auto owner_text = "00112233445566778899aabbccddeeff";

receipt sample(std::string_view name) {
  return {"memory", lock_name{name}, owner_id::parse(owner_text).value(), fence{4097}};
}

void expect_same(const receipt& left, const receipt& right) {
  EXPECT_EQ(left.engine, right.engine);
  EXPECT_EQ(left.name, right.name);
  EXPECT_EQ(left.owner, right.owner);
  EXPECT_EQ(left.fence, right.fence);
  EXPECT_EQ(left.mode, right.mode);
}

std::optional<std::string> complaint(std::string_view text) {
  try {
    EXPECT_EQ(receipt::parse(text).to_string(), text) << "a receipt has one spelling";
    return std::nullopt;
  } catch (const error& failure) {
    EXPECT_EQ(failure.which(), errc::protocol);
    return failure.what();
  }
}

TEST(receipt, it_is_one_word_with_its_version_in_front) {
  EXPECT_EQ(sample("stock/sku-42").to_string(),
            "crosslock1:memory:00112233445566778899aabbccddeeff:4097:stock/sku-42");
  EXPECT_EQ(sample("a:b c%'$\"").to_string(),
            "crosslock1:memory:00112233445566778899aabbccddeeff:4097:a%3Ab%20c%25%27%24%22");
}

TEST(receipt, every_kind_of_name_is_read_back) {
  for (const auto* name : {"a", "..", "a:b", "100%", "{tag}", " ", "M\xc3\xbcller",
                           "\xf0\x9f\x94\x92", "%41", "a/b?c=d&e#f"}) {
    const auto given = sample(name);
    expect_same(receipt::parse(given.to_string()), given);
  }
  auto longest = sample(std::string(lock_name::max_bytes, '%'));
  longest.fence = fence{fence::max_value};
  expect_same(receipt::parse(longest.to_string()), longest);
}

TEST(receipt, the_mode_of_the_hold_is_read_back) {
  for (const claim_mode mode : {claim_mode::exclusive, claim_mode::shared, claim_mode::permit}) {
    auto given = sample("n");
    given.mode = mode;
    expect_same(receipt::parse(given.to_string()), given);
  }
  EXPECT_TRUE(complaint("crosslock1:memory:00112233445566778899aabbccddeeff:s:n"));
  EXPECT_TRUE(complaint("crosslock1:memory:00112233445566778899aabbccddeeff:12sp:n"));
  EXPECT_TRUE(complaint("crosslock1:memory:00112233445566778899aabbccddeeff:12x:n"));
}

TEST(receipt, an_engine_with_a_colon_does_not_shift_the_fields) {
  auto given = sample("n");
  given.engine = "other:engine";
  expect_same(receipt::parse(given.to_string()), given);
}

struct bad_receipt {
  std::string text;
  std::string expected;
};

TEST(receipt, forged_and_damaged_texts_are_refused_by_what_was_expected) {
  const std::string owner = owner_text;
  const std::string good = "crosslock1:memory:" + owner;
  const std::vector<bad_receipt> rows{
      {"", "byte offset 0: expected \"crosslock1:\""},
      {"crosslock2:memory:" + owner + ":1:n", "byte offset 0: expected \"crosslock1:\""},
      {"crosslock10:memory:" + owner + ":1:n", "byte offset 0: expected \"crosslock1:\""},
      {" " + good + ":1:n", "byte offset 0: expected \"crosslock1:\""},
      {"crosslock1", "byte offset 0: expected ':'"},
      {"crosslock1:memory", "byte offset 11: expected ':'"},
      {"crosslock1::" + owner + ":1:n", "byte offset 11: expected the name of an engine"},
      {"crosslock1:a%2:" + owner + ":1:n", "byte offset 11: expected the name of an engine"},
      {"crosslock1:memory:1234:1:n", "byte offset 18: expected 32 lower-case"},
      {"crosslock1:memory:" + std::string(32, '0') + ":1:n", "byte offset 18: expected 32"},
      {"crosslock1:memory:" + std::string(32, 'A') + ":1:n", "byte offset 18: expected 32"},
      {good + "::n", "byte offset 51: expected a fence"},
      {good + ":0:n", "byte offset 51: expected a fence"},
      {good + ":-1:n", "byte offset 51: expected a fence"},
      {good + ":+1:n", "byte offset 51: expected a fence"},
      {good + ":01:n", "byte offset 51: expected a fence"},
      {good + ":1 :n", "byte offset 51: expected a fence"},
      {good + ":1e3:n", "byte offset 51: expected a fence"},
      {good + ":9223372036854775808:n", "byte offset 51: expected a fence"},
      {good + ":1", "byte offset 51: expected ':'"},
      {good + ":1:", "byte offset 53: expected a legal lock name"},
      {good + ":1:a%0A", "byte offset 53: expected a legal lock name"},
      {good + ":1:%FF", "byte offset 53: expected a legal lock name"},
      {good + ":1:crosslock%3A%7B", "byte offset 53: expected a legal lock name"},
      {good + ":1:a b", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:a:b", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:n\n", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:%", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:%4", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:%4g", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:%41", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:%3a", "byte offset 53: expected a name, percent-encoded"},
      {good + ":1:" + std::string(513, 'x'), "byte offset 53: expected a legal lock name"},
      {good + ":1:" + std::string(5000, 'x'), "at most 4096 bytes"},
  };
  for (const auto& [text, expected] : rows) {
    const auto said = complaint(text);
    ASSERT_TRUE(said) << text;
    EXPECT_NE(said->find(expected), std::string::npos) << text << "\n" << *said;
    EXPECT_EQ(said->find("0011223344"), std::string::npos) << "a receipt is a secret: " << *said;
  }
}

TEST(receipt, fences_beyond_what_a_double_can_count_are_exact) {
  auto given = sample("n");
  for (const auto value :
       {(std::int64_t{1} << 53) - 1, (std::int64_t{1} << 53) + 1, fence::max_value}) {
    given.fence = fence{value};
    EXPECT_EQ(receipt::parse(given.to_string()).fence.value(), value);
  }
}

TEST(receipt, any_change_of_a_byte_is_refused_or_gives_another_receipt) {
  const auto text = sample("a:b/c").to_string();
  std::mt19937_64 random{3};
  for (int round = 0; round < 20000; ++round) {
    auto changed = text;
    changed[random() % changed.size()] = static_cast<char>(random());
    complaint(changed);
  }
}

}  // namespace
}  // namespace crosslock
