// Exponential backoff with "equal jitter": the random half keeps clients that failed together
// from coming back together, the fixed half keeps an unlucky one from hammering the server.
#include "engine/backoff.hpp"

#include <algorithm>

namespace crosslock::seam {

duration retry_delay(const retry_options& retry, std::uint64_t attempt,
                     std::uint64_t random) noexcept {
  const auto cap = retry.cap.count();
  if (retry.base.count() <= 0 || cap <= 0) return duration::zero();
  auto whole = std::min(retry.base.count(), cap);
  // Ends after 63 doublings at the latest, and none of them goes beyond the cap.
  for (std::uint64_t i = 0; i < attempt && whole < cap; ++i) {
    whole = whole > cap / 2 ? cap : whole * 2;
  }
  const auto fixed = whole / 2;
  const auto choices = static_cast<std::uint64_t>(whole - fixed) + 1;
  return duration{fixed + static_cast<duration::rep>(random % choices)};
}

}  // namespace crosslock::seam
