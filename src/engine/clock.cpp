// The one thing about parking that a mistake is made of.
#include "engine/clock.hpp"

#include "engine/mutant.hpp"

namespace crosslock::seam {

std::uint32_t as_noted(const park_word& word, std::uint32_t noted) noexcept {
  return mutated(mutant::word_noted_late) ? word.load() : noted;
}

}  // namespace crosslock::seam
