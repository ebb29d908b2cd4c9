// The library's values on a stream: as their to_string says.
#include <crosslock/error.hpp>
#include <crosslock/fence.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>

#include <ostream>

namespace crosslock {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_name:
      return "invalid_name";
    case errc::invalid_lease:
      return "invalid_lease";
    case errc::invalid_url:
      return "invalid_url";
    case errc::would_deadlock:
      return "would_deadlock";
    case errc::upgrade_conflict:
      return "upgrade_conflict";
    case errc::conflict:
      return "conflict";
    case errc::not_held:
      return "not_held";
    case errc::not_owner:
      return "not_owner";
    case errc::lost:
      return "lost";
    case errc::queue_full:
      return "queue_full";
    case errc::fence_exhausted:
      return "fence_exhausted";
    case errc::forked:
      return "forked";
    case errc::closed:
      return "closed";
    case errc::unsupported:
      return "unsupported";
    case errc::unreachable:
      return "unreachable";
    case errc::timed_out:
      return "timed_out";
    case errc::denied:
      return "denied";
    case errc::protocol:
      return "protocol";
    case errc::broken:
      return "broken";
    case errc::cancelled:
      return "cancelled";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, errc shown) { return out << to_string(shown); }

std::ostream& operator<<(std::ostream& out, fence shown) { return out << shown.to_string(); }

std::ostream& operator<<(std::ostream& out, const lock_name& shown) { return out << shown.view(); }

std::ostream& operator<<(std::ostream& out, const owner_id& shown) {
  return out << shown.to_string();
}

}  // namespace crosslock
