// Typed access to what a URL says. Everything here is strict: no signs, no spaces, no fractions.
#pragma once

#include "engine/url.hpp"

#include <crosslock/time.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace crosslock::seam {

/// `30s`, `500ms`, `2m`, `1h`; a plain number is seconds. Empty for anything else, and for what
/// does not fit into a duration.
std::optional<duration> parse_duration(std::string_view text) noexcept;
/// `1`, `0`, `true`, `false`, `yes`, `no`, in lower case.
std::optional<bool> parse_bool(std::string_view text) noexcept;
/// Decimal digits.
std::optional<std::uint64_t> parse_unsigned(std::string_view text) noexcept;

// Each takes the parameter out of the URL; empty when it is not there. Throws `invalid_url` that
// names the parameter and what was expected, but not the value.
std::optional<duration> take_duration(url& url, std::string_view name);
std::optional<bool> take_bool(url& url, std::string_view name);
std::optional<std::uint64_t> take_unsigned(
    url& url, std::string_view name, std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

/// For engines that live on servers: throws `invalid_url` when the URL names no host.
void require_hosts(const url& url);

}  // namespace crosslock::seam
