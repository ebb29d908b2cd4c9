// The texts of what a server of locks refuses. They are the same on every engine.
#pragma once

#include <crosslock/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace crosslock::seam {

/// The server understood and says no. Numbers that a server may tell as text are text here.
struct refusal {
  errc code = errc::protocol;
  std::string text;
};

refusal fence_exhausted(std::string_view name);
refusal upgrade_conflict(std::string_view name);
refusal another_mode(std::string_view name);
refusal too_many_permits(std::string_view name, std::int64_t permits, std::int64_t of);
/// Somebody uses it as a semaphore of `of` permits.
refusal semaphore_of(std::string_view name, std::string_view of, std::string_view wanted);
/// Somebody holds it, or waits for it, as a semaphore, or else as a lock; the other is wanted.
refusal another_kind(std::string_view name, bool semaphore);
refusal queue_full(std::string_view name, std::string_view cap);

}  // namespace crosslock::seam
