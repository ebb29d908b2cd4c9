#include "cli/exit_code.hpp"

namespace crosslock::cli {

int exit_code_of(const error& failure) noexcept {
  switch (failure.which()) {
    case errc::invalid_name:
    case errc::invalid_lease:
      return exit_code::usage;
    case errc::invalid_url:
    case errc::unsupported:
    case errc::conflict:
    case errc::fence_exhausted:  // that name can be used no more: choose another one
      return exit_code::configuration;
    case errc::unreachable:
    case errc::timed_out:
    case errc::protocol:  // somebody answers there, but no server that keeps locks
      return exit_code::unreachable;
    case errc::denied:
      return exit_code::denied;
    case errc::lost:
    case errc::broken:
    case errc::not_held:
    case errc::not_owner:
      return exit_code::lost;
    case errc::queue_full:
    case errc::upgrade_conflict:
    case errc::cancelled:
      return exit_code::busy;
    case errc::would_deadlock:
    case errc::forked:
    case errc::closed:
      return exit_code::internal;  // mistakes of this program, not of who calls it
  }
  return exit_code::internal;
}

}  // namespace crosslock::cli
