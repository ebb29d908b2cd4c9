// What engines do alike unless they can do better, and what they refuse in the same words.
#include "engine/engine.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace crosslock::seam {
namespace {

std::string shown(duration span) {
  using std::chrono::duration_cast;
  const auto ms = duration_cast<std::chrono::milliseconds>(span).count();
  if (ms < 1000) return std::to_string(ms) + " ms";
  const auto hours = duration_cast<std::chrono::hours>(span).count();
  return hours > 0 ? std::to_string(hours) + " h" : std::to_string(ms / 1000) + " s";
}

}  // namespace

void engine::post_release(std::span<const parting_ref> batch, time_point give_up) noexcept {
  for (const parting_ref& one : batch) {
    std::optional<release_answer> answer;
    try {
      answer = release(one->leaving(), give_up);
    } catch (const std::exception&) {
      // Nobody knows: whoever let go of it tries again.
    }
    one->left(answer);
  }
}

void refuse_lease(const traits& engine, duration lease) {
  if (lease >= engine.lease_min && lease <= engine.lease_max) return;
  const std::string name{engine.name};
  throw error{errc::invalid_lease,
              name + ": a lease of " + std::to_string(lease.count()) + " ns is outside of " +
                  shown(engine.lease_min) + " to " + shown(engine.lease_max),
              {.engine = name, .native_code = 0, .outcome_unknown = false}};
}

void refuse_lease(const traits& engine, const renewal& item) {
  if (item.lease != duration::zero()) refuse_lease(engine, item.lease);
}

}  // namespace crosslock::seam
