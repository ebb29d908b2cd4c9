// An error on its way to another thread.
#pragma once

#include <crosslock/error.hpp>

#include <string>

namespace crosslock::seam {

/// The same error with a text of its own. Copies of an exception share their text; who is the last
/// to use it is counted in the standard library, where the thread sanitizer cannot see it: to it
/// one thread frees what the other has just read.
inline error with_own_text(const error& why) {
  std::string text{why.what()};
  const std::string end = ": " + why.code().message();
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  return {why.which(),
          text,
          {.engine = std::string{why.engine()},
           .native_code = why.native_code(),
           .outcome_unknown = why.outcome_unknown()}};
}

}  // namespace crosslock::seam
