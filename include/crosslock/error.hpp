// The one exception type of crosslock, and its error codes.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace crosslock {

/// What went wrong. Contention is never an error: a busy lock is `false` or an empty optional.
enum class errc {
  invalid_name = 1,  ///< empty, too long, not UTF-8, a control character, or reserved
  invalid_lease,     ///< a lease or waiting time that is out of range
  invalid_url,       ///< the URL could not be parsed, or has an option nobody knows
  would_deadlock,    ///< this thread's own lock() already holds this mutex
  upgrade_conflict,  ///< another exclusive claim stands before the upgrade
  conflict,          ///< something of another shape is stored under that name
  not_held,          ///< there is nothing to release
  not_owner,         ///< somebody else holds it
  lost,              ///< it was ours and is no longer
  queue_full,        ///< the line of waiters has reached its cap
  fence_exhausted,   ///< the fence has reached 2^63 - 1
  forked,            ///< the client belongs to the parent of this forked process
  closed,            ///< the client was closed
  unsupported,       ///< the engine, or this build, cannot do that
  unreachable,       ///< no connection to the server
  timed_out,         ///< the server did not answer in time
  denied,            ///< the server refused the credentials or the right to act
  protocol,          ///< the server answered something that makes no sense
  broken,            ///< a member of the barrier has died or given up
  cancelled,         ///< the caller's own stop ended the wait
};

const std::error_category& error_category() noexcept;
std::error_code make_error_code(errc code) noexcept;

/// Everything that fails in crosslock throws this one type; ask it questions instead of catching
/// a hierarchy. The text names the input at fault and what to do, and never contains a password.
class error : public std::system_error {
 public:
  /// Facts an engine adds to the code and the text.
  struct facts {
    std::string engine;            ///< which engine said so; empty when none was involved
    long native_code = 0;          ///< the server's or the client library's own number
    bool outcome_unknown = false;  ///< the request was sent and may have been carried out
  };

  error(errc code, const std::string& text);
  error(errc code, const std::string& text, facts facts);

  errc which() const noexcept { return static_cast<errc>(code().value()); }
  /// True when the same call may succeed later without any change by the caller: `unreachable`,
  /// `timed_out` and `queue_full`.
  bool retryable() const noexcept;
  /// True when the request may have been carried out although no answer came. crosslock itself
  /// withdraws such a request in the background.
  bool outcome_unknown() const noexcept { return facts_.outcome_unknown; }
  std::string_view engine() const noexcept { return facts_.engine; }
  long native_code() const noexcept { return facts_.native_code; }

 private:
  facts facts_;
};

}  // namespace crosslock

template <>
struct std::is_error_code_enum<crosslock::errc> : std::true_type {};
