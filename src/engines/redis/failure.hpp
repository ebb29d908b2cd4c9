// Errors of this engine.
#pragma once

#include <crosslock/error.hpp>

#include <string>

namespace crosslock::redis {

/// `native` is an errno, or what another library calls its error.
inline error make_error(errc code, const std::string& text, long native = 0,
                        bool outcome_unknown = false) {
  return {code,
          "redis: " + text,
          {.engine = "redis", .native_code = native, .outcome_unknown = outcome_unknown}};
}

}  // namespace crosslock::redis
