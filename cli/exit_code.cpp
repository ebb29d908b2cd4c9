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
      return exit_code::configuration;
    case errc::unreachable:
    case errc::timed_out:
      return exit_code::unreachable;
    case errc::denied:
      return exit_code::denied;
    case errc::lost:
      return exit_code::lost;
    case errc::queue_full:
      return exit_code::busy;
    default:
      return exit_code::internal;
  }
}

}  // namespace crosslock::cli
