// Who stands in whose way, and what may be blamed on a fault.
#include "checker/timeline.hpp"

#include <algorithm>

namespace crosslock::checker {

bool timeline::fault_between(instant from, instant to, const std::string& lock) const {
  return std::any_of(faults.begin(), faults.end(), [&](const fault_span& f) {
    return concerns(f, lock) && f.from <= to && from <= f.to;
  });
}

bool timeline::state_lost_between(const grant& first, const grant& second) const {
  const instant from = std::min(first.based_on(), second.based_on());
  const instant to = std::max(first.ok, second.ok);
  return std::any_of(faults.begin(), faults.end(), [&](const fault_span& f) {
    return loses_state(f.kind) && concerns(f, first.lock()) && f.from >= from && f.from <= to;
  });
}

bool conflict(const event& a, const event& b) {
  if (a.mode == claim_mode::exclusive || b.mode == claim_mode::exclusive) {
    return true;
  }
  return a.mode == claim_mode::permit && b.mode == claim_mode::permit &&
         a.permits + b.permits > std::min(a.of, b.of);
}

bool loses_state(fault kind) {
  return kind == fault::state_loss || kind == fault::rollback || kind == fault::clock_step ||
         kind == fault::admin_delete;
}

bool concerns(const fault_span& f, const std::string& lock) {
  return f.lock.empty() || f.lock == lock;
}

}  // namespace crosslock::checker
