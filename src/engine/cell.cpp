// The one limit that all engines share.
#include "engine/cell.hpp"

#include <crosslock/error.hpp>

namespace crosslock::seam {

void refuse_long_value(std::string_view engine, const cell_swap& wanted, std::size_t longest) {
  if (wanted.value.size() <= longest) return;
  // Nothing is wrong with what is stored, and no later try will fare better.
  throw error{errc::unsupported,
              std::string{engine} + ": a value of " + std::to_string(wanted.value.size()) +
                  " bytes for '" + wanted.name->str() + "' is too long; at most " +
                  std::to_string(longest) + " bytes fit",
              {.engine = std::string{engine}, .native_code = 0, .outcome_unknown = false}};
}

}  // namespace crosslock::seam
