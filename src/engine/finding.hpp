// What an engine has to say about the server it is connected to.
#pragma once

#include <crosslock/error.hpp>

#include <string>

namespace crosslock::seam {

enum class severity {
  note,     ///< good to know
  warning,  ///< works, but a promise is weaker than it could be
  refusal,  ///< locks must not be kept there
};

/// One sentence about one thing.
struct finding {
  severity weight = severity::note;
  std::string topic;  ///< one word: `role`, `version`, `eviction`, ...
  std::string text;   ///< what is so, and what that means for locks
  errc code{};        ///< of a refusal: the error that it is

  friend bool operator==(const finding&, const finding&) = default;
};

}  // namespace crosslock::seam
