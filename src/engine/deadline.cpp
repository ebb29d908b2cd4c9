#include "engine/deadline.hpp"

#include "engine/mutant.hpp"

namespace crosslock::seam {

time_point counted_from(time_point sent, time_point answered) noexcept {
  return mutated(mutant::deadline_from_response) ? answered : sent;
}

}  // namespace crosslock::seam
