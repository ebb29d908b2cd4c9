// What the compiler alone can prove about the public headers.
#include "engine/claim.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

namespace crosslock {
namespace {

using namespace std::chrono_literals;

// Names, owners and fences: types of their own, none of which becomes another by accident.

template <class A, class B>
constexpr bool apart = !std::is_convertible_v<A, B> && !std::is_convertible_v<B, A> &&
                       !std::is_constructible_v<A, B> && !std::is_constructible_v<B, A> &&
                       !std::is_assignable_v<A&, B> && !std::is_assignable_v<B&, A>;
static_assert(apart<lock_name, owner_id>);
static_assert(apart<lock_name, fence>);
static_assert(apart<owner_id, fence>);

template <class T>
constexpr bool only_on_request_from_text =
    !std::is_convertible_v<const char*, T> && !std::is_convertible_v<std::string, T> &&
    !std::is_convertible_v<std::string_view, T> && !std::is_convertible_v<T, std::string> &&
    !std::is_convertible_v<T, std::string_view>;
static_assert(only_on_request_from_text<lock_name>);
static_assert(only_on_request_from_text<owner_id>);
static_assert(only_on_request_from_text<fence>);
static_assert(!std::is_convertible_v<std::int64_t, fence>);
static_assert(!std::is_convertible_v<fence, std::int64_t> && !std::is_convertible_v<fence, bool>);

static_assert(std::totally_ordered<lock_name> && std::totally_ordered<owner_id> &&
              std::totally_ordered<fence>);
template <class A, class B>
concept comparable = requires(const A& a, const B& b) {
  a == b;
};
static_assert(!comparable<lock_name, owner_id> && !comparable<owner_id, fence> &&
              !comparable<lock_name, fence> && !comparable<fence, int>);
static_assert(std::is_nothrow_move_constructible_v<lock_name>);
static_assert(std::is_trivially_copyable_v<owner_id> && std::is_trivially_copyable_v<fence>);
static_assert(!std::is_default_constructible_v<lock_name>);

// Arguments in the wrong order do not compile.

template <class A, class B>
concept can_break = requires(const client& locks, A a, B b) {
  locks.break_lock(a, b);
};
static_assert(can_break<std::string_view, owner_id> && can_break<const char*, owner_id>);
static_assert(!can_break<owner_id, std::string_view> && !can_break<owner_id, const char*>);
static_assert(!can_break<std::string_view, std::string_view>);
static_assert(!can_break<std::string_view, fence>);

template <class... Parts>
concept makes_receipt = requires(Parts... parts) {
  receipt{parts...};
};
static_assert(makes_receipt<std::string, lock_name, owner_id, fence>);
static_assert(!makes_receipt<std::string, owner_id, lock_name, fence>);
static_assert(!makes_receipt<std::string, lock_name, fence, owner_id>);
static_assert(!makes_receipt<lock_name, std::string, owner_id, fence>);

template <class... Parts>
concept makes_claim = requires(Parts... parts) {
  seam::claim{parts...};
};
static_assert(makes_claim<seam::name_ref, owner_id>);
static_assert(!makes_claim<owner_id, seam::name_ref>);

template <class T, class A, class B>
concept makes_lock = requires(A a, B b) {
  T{a, b};
};
static_assert(makes_lock<mutex, client, const char*> && makes_lock<mutex, client, lock_name>);
static_assert(!makes_lock<mutex, const char*, client> && !makes_lock<mutex, client, owner_id>);
static_assert(makes_lock<recursive_mutex, client, lock_name>);
static_assert(!makes_lock<recursive_mutex, client, owner_id>);

// The clock meets the standard's Clock requirements.

static_assert(std::chrono::is_clock_v<boot_clock>);
static_assert(boot_clock::is_steady&& noexcept(boot_clock::now()));
static_assert(std::same_as<decltype(boot_clock::now()), boot_clock::time_point>);
static_assert(std::same_as<boot_clock::time_point::clock, boot_clock>);
static_assert(std::same_as<boot_clock::time_point::duration, boot_clock::duration>);
static_assert(
    std::same_as<boot_clock::duration, std::chrono::duration<boot_clock::rep, boot_clock::period>>);
static_assert(std::same_as<time_point, boot_clock::time_point>);

// The locks meet TimedLockable ([thread.req.lockable.timed]).

template <class L>
concept basic_lockable = requires(L lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.unlock() }
  noexcept->std::same_as<void>;
};
template <class L>
concept lockable = basic_lockable<L> && requires(L lock) {
  { lock.try_lock() } -> std::same_as<bool>;
};
template <class L>
concept timed_lockable = lockable<L> && requires(L lock) {
  { lock.try_lock_for(1ns) } -> std::same_as<bool>;
  { lock.try_lock_for(1h) } -> std::same_as<bool>;
  { lock.try_lock_for(std::chrono::duration<double>{0.5}) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::system_clock::now()) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::steady_clock::now()) } -> std::same_as<bool>;
  { lock.try_lock_until(boot_clock::now()) } -> std::same_as<bool>;
  { lock.try_lock_until(std::chrono::sys_days{}) } -> std::same_as<bool>;
};
template <class L>
constexpr bool stays_in_place =
    !std::is_copy_constructible_v<L> && !std::is_move_constructible_v<L> &&
    !std::is_copy_assignable_v<L> && !std::is_move_assignable_v<L>;
template <class L>
concept tells_of_its_hold = requires(const L lock) {
  { lock.fence() } -> std::same_as<fence>;
  { lock.lost() } -> std::same_as<std::stop_token>;
};
static_assert(timed_lockable<mutex> && timed_lockable<recursive_mutex>);
static_assert(stays_in_place<mutex> && stays_in_place<recursive_mutex>);
static_assert(tells_of_its_hold<mutex> && tells_of_its_hold<recursive_mutex>);
static_assert(std::is_nothrow_destructible_v<mutex>);
static_assert(std::is_nothrow_destructible_v<recursive_mutex>);

// A hold has one owner.

static_assert(!std::is_copy_constructible_v<hold> && !std::is_copy_assignable_v<hold>);
static_assert(std::is_nothrow_move_constructible_v<hold>);
static_assert(std::is_nothrow_move_assignable_v<hold>);
static_assert(std::is_nothrow_destructible_v<hold> && !std::is_default_constructible_v<hold>);
static_assert(noexcept(std::declval<hold&>().release()));
static_assert(std::same_as<decltype(std::declval<hold&>().lost()), std::stop_token>);

// There is one exception type, and copying a handle shares it.

static_assert(std::is_base_of_v<std::system_error, error>);
static_assert(std::is_error_code_enum_v<errc> && std::is_convertible_v<errc, std::error_code>);
static_assert(std::copyable<client>);

TEST(headers, a_hold_that_is_dropped_makes_the_compiler_warn) {
  // No expression can ask for an attribute, so the text of the header is asked.
  const auto root = std::filesystem::path{__FILE__}.parent_path().parent_path().parent_path();
  std::ifstream header{root / "include/crosslock/hold.hpp"};
  ASSERT_TRUE(header) << root;
  const std::string text{std::istreambuf_iterator<char>{header}, {}};
  EXPECT_NE(text.find("class [[nodiscard]] hold {"), std::string::npos);
}

TEST(headers, the_version_of_the_library_is_the_version_of_the_headers) {
  EXPECT_STREQ(version(), CROSSLOCK_VERSION);
  const auto parts = std::to_string(CROSSLOCK_VERSION_MAJOR) + '.' +
                     std::to_string(CROSSLOCK_VERSION_MINOR) + '.' +
                     std::to_string(CROSSLOCK_VERSION_PATCH);
  EXPECT_EQ(parts, CROSSLOCK_VERSION);
}

TEST(headers, every_event_has_a_word) {
  EXPECT_EQ(to_string(acquire_cause::asked), "asked");
  EXPECT_EQ(to_string(acquire_cause::passed), "passed");
  EXPECT_EQ(to_string(acquire_cause::pushed), "pushed");
  EXPECT_EQ(to_string(acquire_cause::refreshed), "refreshed");
  EXPECT_EQ(to_string(acquire_cause::looked), "looked");
  EXPECT_EQ(to_string(loss_reason::none), "none");
  EXPECT_EQ(to_string(loss_reason::expired), "expired");
  EXPECT_EQ(to_string(loss_reason::gone), "gone");
  EXPECT_EQ(to_string(loss_reason::broken), "broken");
  EXPECT_EQ(to_string(loss_reason::lease_ended), "lease_ended");
  EXPECT_EQ(to_string(loss_reason::max_hold), "max_hold");
  EXPECT_EQ(to_string(loss_reason::closed), "closed");
  EXPECT_EQ(to_string(release_result::released), "released");
  EXPECT_EQ(to_string(release_result::passed), "passed");
  EXPECT_EQ(to_string(release_result::lost), "lost");
  EXPECT_EQ(to_string(release_result::not_held), "not_held");
  EXPECT_EQ(to_string(release_result::not_owner), "not_owner");
  EXPECT_EQ(to_string(release_result::unknown), "unknown");
}

}  // namespace
}  // namespace crosslock
