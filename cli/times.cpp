#include "cli/times.hpp"

#include "cli/command.hpp"
#include "engine/url_values.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

/// What has a fraction: digits, a point, digits, a unit.
std::optional<duration> read_fraction(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const std::size_t unit = std::min(text.find_first_not_of("0123456789", point + 1), text.size());
  const std::string_view digits = text.substr(point + 1, unit - point - 1);
  if (digits.empty() || digits.size() > 9) return std::nullopt;
  const std::string whole = point == 0 ? "0" : std::string{text.substr(0, point)};
  const std::string suffix{text.substr(unit)};
  const auto before = seam::parse_duration(whole + suffix);
  const auto one = seam::parse_duration("1" + suffix);
  const auto parts = seam::parse_unsigned(digits);
  if (!before || !one || !parts) return std::nullopt;
  const double part =
      static_cast<double>(*parts) / std::pow(10.0, static_cast<double>(digits.size()));
  const duration rest{static_cast<std::int64_t>(part * static_cast<double>(one->count()))};
  return *before > duration::max() - rest ? std::nullopt : std::optional{*before + rest};
}

std::string two_digits(std::int64_t number) {
  const std::string zero(number < 10 ? 1 : 0, '0');
  return zero + std::to_string(number);
}

}  // namespace

duration read_time(std::string_view option, std::string_view text) {
  constexpr duration longest = 100 * 365 * 24h;  // added to any time it stays one
  const auto plain = seam::parse_duration(text);
  const auto time = plain ? plain : read_fraction(text);
  if (time && *time <= longest) return *time;
  throw usage_error{std::string{option} + " is '" + std::string{text} +
                    "': expected a time such as 30s, 500ms, 2m, 1h, or a number of seconds"};
}

std::string show_time(duration time) {
  if (time < 1s) return std::to_string(std::max<std::int64_t>(time / 1ms, 0)) + "ms";
  if (time < 10s) return std::to_string(time / 1s) + '.' + std::to_string(time % 1s / 100ms) + "s";
  if (time < 1min) return std::to_string(time / 1s) + "s";
  if (time < 1h) return std::to_string(time / 1min) + "m" + two_digits(time % 1min / 1s) + "s";
  if (time < 24h) return std::to_string(time / 1h) + "h" + two_digits(time % 1h / 1min) + "m";
  return std::to_string(time / 24h) + "d" + two_digits(time % 24h / 1h) + "h";
}

}  // namespace crosslock::cli
