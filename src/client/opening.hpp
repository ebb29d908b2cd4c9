// From a URL and options to a connected engine.
#pragma once

#include "engine/registry.hpp"
#include "keeper/settings.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace crosslock::inner {

/// What it takes to open a client: its settings, and how to connect.
struct opening_plan {
  inner::settings settings;
  std::function<std::unique_ptr<seam::engine>(seam::engine_events&, seam::clock&)> open;
};

/// Parses the URL, takes the common parameters out of it, and puts options, URL, environment and
/// defaults together, in this order. Connects nothing yet.
opening_plan plan_opening(std::string_view url, const options& options);

/// Where locks are kept when the program does not say: CROSSLOCK_URL, or the embedded engine in the
/// user's own folder. Throws `invalid_url` when there is neither.
std::string default_url();

/// Connects, trying again as settings::retry says, and puts the observer in between if there is
/// one.
std::unique_ptr<seam::engine> open_engine(const opening_plan& plan, seam::engine_events& events,
                                          seam::clock& clock);

}  // namespace crosslock::inner
