// An engine that tells an observer about its round trips.
#pragma once

#include "engine/engine.hpp"

#include <crosslock/observer.hpp>

#include <memory>

namespace crosslock::inner {

/// Wraps an engine; only clients with an observer have one, so that others pay nothing.
std::unique_ptr<seam::engine> observe(std::unique_ptr<seam::engine> engine,
                                      std::shared_ptr<observer> observer, seam::clock& clock);

}  // namespace crosslock::inner
