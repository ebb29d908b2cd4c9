// The words for logs, metrics and the command line: the same as in the code.
#include <crosslock/observer.hpp>

namespace crosslock {

std::string_view to_string(acquire_cause cause) noexcept {
  switch (cause) {
    case acquire_cause::asked:
      return "asked";
    case acquire_cause::passed:
      return "passed";
    case acquire_cause::joined:
      return "joined";
    case acquire_cause::pushed:
      return "pushed";
    case acquire_cause::refreshed:
      return "refreshed";
    case acquire_cause::looked:
      return "looked";
  }
  return "?";
}

std::string_view to_string(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::none:
      return "none";
    case loss_reason::expired:
      return "expired";
    case loss_reason::gone:
      return "gone";
    case loss_reason::broken:
      return "broken";
    case loss_reason::lease_ended:
      return "lease_ended";
    case loss_reason::max_hold:
      return "max_hold";
    case loss_reason::closed:
      return "closed";
  }
  return "?";
}

std::string_view to_string(release_result result) noexcept {
  switch (result) {
    case release_result::released:
      return "released";
    case release_result::passed:
      return "passed";
    case release_result::lost:
      return "lost";
    case release_result::detached:
      return "detached";
    case release_result::not_held:
      return "not_held";
    case release_result::not_owner:
      return "not_owner";
    case release_result::unknown:
      return "unknown";
  }
  return "?";
}

}  // namespace crosslock
