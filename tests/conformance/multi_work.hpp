// What is done under several locks at once: a number for each of them grows by one.
#pragma once

#include "conformance/witness.hpp"

#include <crosslock/multi_lock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace crosslock::conformance {

/// Reads the number of each name, works, and writes one more under the fence of each. False when
/// one of the writes was refused, or not made because the locks were lost.
inline bool increment_each(const surroundings& where, const std::vector<std::string>& names,
                           multi_hold& held, duration work) {
  std::vector<std::int64_t> before;
  for (const std::string& each : names) before.push_back(where.resource->read(each));
  if (work > duration::zero()) where.sleep(work);
  const std::vector<fence> fences = held.fences();
  if (!where.alive() || !held.valid()) return false;
  bool accepted = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    accepted = where.resource->write(names[i], fences[i], before[i] + 1) && accepted;
  }
  return accepted;
}

/// So many times: take all, work, let go. The names are different ones.
inline int increment_all(const surroundings& where, multi_lock& locks,
                         const std::vector<std::string>& names, int times, duration work) {
  int accepted = 0;
  for (int i = 0; i < times && where.alive(); ++i) {
    multi_hold held = locks.acquire();
    if (increment_each(where, names, held, work)) ++accepted;
    held.release();
  }
  return accepted;
}

}  // namespace crosslock::conformance
