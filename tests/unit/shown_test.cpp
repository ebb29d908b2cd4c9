// Values on a stream.
#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <iomanip>
#include <set>
#include <sstream>

namespace crosslock {
namespace {

template <class Value>
std::string streamed(const Value& value) {
  std::ostringstream out;
  out << std::hex << std::setfill('0') << std::setw(0) << value;
  return out.str();
}

TEST(shown, values_are_written_as_to_string_says) {
  EXPECT_EQ(streamed(fence{42}), "42");  // decimal, whatever the stream does with numbers
  EXPECT_EQ(streamed(lock_name{"stock/sku-42"}), "stock/sku-42");
  const auto owner = owner_id::parse("000102030405060708090a0b0c0d0e0f");
  ASSERT_TRUE(owner);
  EXPECT_EQ(streamed(*owner), "000102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(streamed(errc::would_deadlock), "would_deadlock");
}

TEST(shown, every_code_has_a_name_of_its_own) {
  std::set<std::string_view> seen;
  constexpr int last = static_cast<int>(errc::cancelled);
  for (int value = 1; value <= last; ++value) {
    const auto name = to_string(static_cast<errc>(value));
    EXPECT_NE(name, "?") << value;
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
  EXPECT_EQ(to_string(static_cast<errc>(last + 1)), "?");
}

}  // namespace
}  // namespace crosslock
