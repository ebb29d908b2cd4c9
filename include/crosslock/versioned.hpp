// The optimistic way: read, compute, write if nobody has written meanwhile.
#pragma once

#include <crosslock/client.hpp>
#include <crosslock/wait.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace crosslock {

/// What ends an update() before it has won.
struct update_how {
  std::optional<duration> wait{};    ///< so much time; empty: no end
  std::uint64_t tries = UINT64_MAX;  ///< so many attempts to write
  std::stop_token stop{};
};

/// A small value with a version, kept by the server, for those who need no lock: a write succeeds
/// only if the version is still the one that was read, so no update is ever lost. Any bytes, up to
/// 1 MiB. Versions only grow, not always by one; 0 means that nothing is written there. A value
/// stays until it is overwritten or erased. Thread-safe. Has nothing to do with a lock of the same
/// name.
///
/// | the value is | read() | compare_and_set(v, ...) | update(fn) | erase(v) | erase() |
/// |---|---|---|---|---|---|
/// | not written, or erased | empty, version 0 | writes if v is 0 | fn("") | true | returns |
/// | at version v | value and v | writes, the new version | fn(value) | true, gone | gone |
/// | at another version | value, that one | empty, nothing done | tries again | false | gone |
/// | of a fenced_register | value, version | throws | throws | throws | throws |
///
/// What is thrown there is `conflict`. Behind an erasure versions go on where they were, so whoever
/// has read a version before it writes nothing with it. Version 0 says only that nothing is there:
/// not that nothing ever was. So a first write whose answer was lost, and that somebody has erased
/// before it is repeated, is made again.
///
/// A request whose answer was lost is repeated under the same id, which tells the server that it
/// has been carried out already. If somebody else has written in between, nobody can tell any more
/// whether it was: then the call throws with `outcome_unknown()` instead of writing twice. Read the
/// value then, and decide by it.
class versioned {
 public:
  struct reading {
    std::string value;
    std::uint64_t version = 0;
  };
  struct written {
    std::string value;
    std::uint64_t version = 0;
    std::uint64_t retries = 0;  ///< how often somebody else was quicker
  };

  /// Throws `unsupported` where the engine stores no values.
  versioned(const client& locks, std::string_view name);
  versioned(const client& locks, lock_name name);
  versioned(const versioned&) = delete;
  versioned& operator=(const versioned&) = delete;
  ~versioned();

  [[nodiscard]] reading read() const;
  /// The new version; empty when the version is not `expected` any more.
  [[nodiscard]] std::optional<std::uint64_t> compare_and_set(std::uint64_t expected,
                                                             const std::string& value);

  /// Writes fn(value), where fn returns a string, or an optional one that is empty to give up. When
  /// others are quicker fn is asked again, with their value, after a random pause that grows. Empty
  /// when fn gave up, or `how` ended it: nothing was written. What fn throws is thrown on.
  template <class Fn>
  std::optional<written> update(Fn&& fn, const update_how& how = {}) {
    return update_with(
        [&fn](const std::string& value) -> std::optional<std::string> {
          return std::invoke(fn, value);
        },
        how);
  }

  /// Removes it from the server, whatever it is or only at that version; false, and nothing done,
  /// when it has another one. For values that nobody needs any more.
  void erase();
  [[nodiscard]] bool erase(std::uint64_t expected);

  /// How often this object's updates had to be tried again.
  std::uint64_t retries() const noexcept;
  const lock_name& name() const noexcept;

 private:
  struct state;
  using change = std::function<std::optional<std::string>(const std::string&)>;

  std::optional<written> update_with(const change& fn, const update_how& how);

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
