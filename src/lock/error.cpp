// The error category and the texts of the codes. Each text is the short end of what(): the longer
// beginning comes from whoever throws.
#include <crosslock/error.hpp>

#include <string>
#include <utility>

namespace crosslock {
namespace {

const char* text_of(errc code) noexcept {
  switch (code) {
    case errc::invalid_name:
      return "invalid lock name";
    case errc::invalid_lease:
      return "invalid lease or waiting time";
    case errc::invalid_url:
      return "invalid URL";
    case errc::would_deadlock:
      return "this thread already holds the lock";
    case errc::upgrade_conflict:
      return "another exclusive claim stands before the upgrade";
    case errc::conflict:
      return "something of another shape has that name";
    case errc::not_held:
      return "the lock is not held";
    case errc::not_owner:
      return "somebody else holds the lock";
    case errc::lost:
      return "the lock was lost";
    case errc::queue_full:
      return "too many are waiting for the lock";
    case errc::fence_exhausted:
      return "the fence has reached its largest value";
    case errc::forked:
      return "the client belongs to the parent process";
    case errc::closed:
      return "the client is closed";
    case errc::unsupported:
      return "not supported";
    case errc::unreachable:
      return "the server cannot be reached";
    case errc::timed_out:
      return "the server did not answer in time";
    case errc::denied:
      return "the server denied access";
    case errc::protocol:
      return "unexpected data";
    case errc::broken:
      return "the barrier is broken";
    case errc::cancelled:
      return "the wait was stopped by its caller";
  }
  return nullptr;
}

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "crosslock"; }

  std::string message(int value) const override {
    if (const char* text = text_of(static_cast<errc>(value))) return text;
    return "unknown crosslock error " + std::to_string(value);
  }

  // Generic code compares with the conditions that std::mutex documents; it shall work with ours.
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::invalid_name:
      case errc::invalid_lease:
      case errc::invalid_url:
        return std::errc::invalid_argument;
      case errc::would_deadlock:
        return std::errc::resource_deadlock_would_occur;
      case errc::not_held:
      case errc::not_owner:
        return std::errc::operation_not_permitted;
      case errc::unsupported:
        return std::errc::not_supported;
      case errc::unreachable:
        return std::errc::not_connected;
      case errc::timed_out:
        return std::errc::timed_out;
      case errc::denied:
        return std::errc::permission_denied;
      case errc::cancelled:
        return std::errc::operation_canceled;
      default:
        return {value, *this};
    }
  }
};

}  // namespace

const std::error_category& error_category() noexcept {
  // Never destroyed: static destructors of the program may still release locks and fail.
  static const category* const only = new category;
  return *only;
}

std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

error::error(errc code, const std::string& text) : std::system_error{make_error_code(code), text} {}

error::error(errc code, const std::string& text, facts more)
    : std::system_error{make_error_code(code), text}, facts_{std::move(more)} {}

bool error::retryable() const noexcept {
  switch (which()) {
    // Asking again is safe also when the outcome is unknown: every verb is idempotent by owner id.
    case errc::unreachable:
    case errc::timed_out:
    // The line shortens by itself, and the backoff between two tries spares the server.
    case errc::queue_full:
      return true;
    // All else stays as it is until somebody changes something. That goes for upgrade_conflict
    // too: the claim in front waits for the very shared hold the caller still has.
    default:
      return false;
  }
}

}  // namespace crosslock
