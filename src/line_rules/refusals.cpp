// Each text names the lock, and says what to do where there is something to do.
#include "line_rules/refusals.hpp"

namespace crosslock::seam {
namespace {

std::string quoted(std::string_view name) {
  std::string text{"'"};
  text += name;
  text += '\'';
  return text;
}

}  // namespace

refusal fence_exhausted(std::string_view name) {
  return {errc::fence_exhausted,
          "the fence of " + quoted(name) + " has reached 2^63 - 1; use another name"};
}

refusal upgrade_conflict(std::string_view name) {
  return {errc::upgrade_conflict, "another exclusive claim on " + quoted(name) +
                                      " was first; release the shared hold and acquire anew"};
}

refusal another_mode(std::string_view name) {
  return {errc::conflict, quoted(name) + " is held in another mode"};
}

refusal too_many_permits(std::string_view name, std::int64_t permits, std::int64_t of) {
  return {errc::conflict, quoted(name) + ": cannot give " + std::to_string(permits) + " of " +
                              std::to_string(of) + " permits"};
}

refusal semaphore_of(std::string_view name, std::string_view of, std::string_view wanted) {
  return {errc::conflict, quoted(name) + " is a semaphore of " + std::string{of} +
                              " permits, not of " + std::string{wanted}};
}

refusal another_kind(std::string_view name, bool semaphore) {
  const std::string_view is = semaphore ? "semaphore" : "lock";
  const std::string_view wanted = semaphore ? "lock" : "semaphore";
  return {errc::conflict, quoted(name) + " is held or waited for as a " + std::string{is} +
                              ": it cannot be used as a " + std::string{wanted} +
                              " meanwhile; give them two names"};
}

refusal queue_full(std::string_view name, std::string_view cap) {
  return {errc::queue_full, "the line of " + quoted(name) + " has reached its cap of " +
                                std::string{cap} + " waiters"};
}

}  // namespace crosslock::seam
