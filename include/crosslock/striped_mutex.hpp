// Many keys, few locks.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/multi_lock.hpp>
#include <crosslock/mutex.hpp>
#include <crosslock/wait.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace crosslock {

/// The hash that decides on a key's stripe: 64-bit FNV-1a over the bytes of the key, then the final
/// mix of MurmurHash3. Part of the contract: the same on every machine and in every version.
constexpr std::uint64_t stripe_hash(std::string_view key) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : key) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x00000100000001b3U;
  }
  // FNV leaves the low bits of short keys too regular for a remainder.
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdU;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53U;
  hash ^= hash >> 33;
  return hash;
}

/// An exclusive lock for each of endlessly many keys, made of k locks: those whose stripe is the
/// same exclude each other, too. The stripe of a key is stripe_hash(key) % k, its lock is the mutex
/// NAME#NNNNN (five decimal digits): programs in any language can take part. Thread-safe.
///
/// All clients must mean the same k: the first writes it down on the server, where it stays, and
/// another one is a `conflict` that names both. To change it, take another name.
///
/// Never lock a key while you hold another one's lock, of the same striped_mutex: they may be one,
/// or somebody may do it the other way round. Take the set at once, by all_of.
class striped_mutex {
 public:
  static constexpr std::uint32_t max_stripes = 65536;

  /// Throws `conflict` for another k than the server's, or one that is not between 1 and
  /// max_stripes; `invalid_name` also where NAME#NNNNN would be too long; `unsupported` where the
  /// engine has no cells. Asks the server.
  striped_mutex(const client& locks, std::string_view name, std::uint32_t stripes);
  striped_mutex(const striped_mutex&) = delete;
  striped_mutex& operator=(const striped_mutex&) = delete;
  ~striped_mutex();

  /// The lock of a key, with all that a mutex can do. Lives as long as this object.
  mutex& of(std::string_view key) { return stripe(stripe_of(key)); }
  std::uint32_t stripe_of(std::string_view key) const noexcept;

  hold acquire(std::string_view key, acquire_how how = {}) {
    return of(key).acquire(std::move(how));
  }
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<hold> acquire(std::string_view key, Stop stop) {
    return of(key).acquire(std::move(stop));
  }
  [[nodiscard]] std::optional<hold> try_acquire(std::string_view key, acquire_how how = {}) {
    return of(key).try_acquire(std::move(how));
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<hold> try_acquire_for(std::string_view key,
                                                    const std::chrono::duration<Rep, Period>& wait,
                                                    acquire_how how = {}) {
    return of(key).try_acquire_for(wait, std::move(how));
  }
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<hold> try_acquire_for(
      std::string_view key, const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return of(key).try_acquire_for(wait, lease, std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<hold> try_acquire_until(
      std::string_view key, const std::chrono::time_point<Clock, Duration>& end,
      acquire_how how = {}) {
    return of(key).try_acquire_until(end, std::move(how));
  }
  void acquire_async(std::string_view key, acquire_callback done, acquire_how how = {},
                     std::optional<duration> wait = std::nullopt) {
    of(key).acquire_async(std::move(done), std::move(how), wait);
  }
  acquisition<hold> async_acquire(std::string_view key, acquire_how how = {},
                                  std::optional<duration> wait = std::nullopt) {
    return of(key).async_acquire(std::move(how), wait);
  }

  /// The locks of a set of keys as one, each stripe once and in the order of the stripes, so that
  /// sets never wait for each other in a circle. Its fences are in the order of the keys.
  ///
  ///     auto both = stripes.all_of({"alice", "bob"}).acquire();
  multi_lock all_of(std::span<const std::string> keys) const;
  multi_lock all_of(std::initializer_list<std::string_view> keys) const;

  std::uint32_t stripes() const noexcept;  ///< k
  const std::string& name() const noexcept;

 private:
  struct state;

  mutex& stripe(std::uint32_t number);

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
