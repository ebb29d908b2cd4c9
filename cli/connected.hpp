// A client of one command.
#pragma once

#include <crosslock/client.hpp>

namespace crosslock::cli {

/// The thread that calls back may keep the client for a moment longer than we do; closing it waits
/// for all that has to be undone on the server, and the process does not end before that.
struct closed_in_the_end {
  const client& locks;

  explicit closed_in_the_end(const client& which) noexcept : locks{which} {}
  closed_in_the_end(const closed_in_the_end&) = delete;
  closed_in_the_end& operator=(const closed_in_the_end&) = delete;
  ~closed_in_the_end() { locks.close(); }
};

}  // namespace crosslock::cli
