// The command `crosslock doctor`.
#pragma once

#include <iosfwd>
#include <string>

namespace crosslock::cli {

struct doctor_request {
  std::string url;  ///< empty: where a program would keep its locks that names no URL
  bool json = false;
};

/// Connects, shows what the engine has to say, takes a lock and gives it back. The exit code is
/// that of the first thing that stands in the way of locks; 0 when there is none, warnings or not.
int examine(const doctor_request& wanted, std::ostream& out);

}  // namespace crosslock::cli
