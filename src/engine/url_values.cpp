// Numbers are read by std::from_chars, which knows no locale and reports overflow.
#include "engine/url_values.hpp"

#include <crosslock/error.hpp>

#include <array>
#include <charconv>
#include <string>

namespace crosslock::seam {
namespace {

struct unit {
  std::string_view suffix;
  std::int64_t nanoseconds;
};

// The plain number comes last: every text ends with nothing.
constexpr std::array<unit, 5> units{{{"ms", 1'000'000},
                                     {"s", 1'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"", 1'000'000'000}}};

[[noreturn]] void refuse(std::string_view name, const std::string& expected) {
  throw error{errc::invalid_url,
              "URL parameter \"" + std::string{name} + "\": expected " + expected};
}

}  // namespace

std::optional<duration> parse_duration(std::string_view text) noexcept {
  for (const auto& [suffix, nanoseconds] : units) {
    if (!text.ends_with(suffix)) continue;
    const auto count = parse_unsigned(text.substr(0, text.size() - suffix.size()));
    const auto most = static_cast<std::uint64_t>(duration::max().count() / nanoseconds);
    if (!count || *count > most) return std::nullopt;
    return duration{static_cast<std::int64_t>(*count) * nanoseconds};
  }
  return std::nullopt;
}

std::optional<bool> parse_bool(std::string_view text) noexcept {
  if (text == "1" || text == "true" || text == "yes") return true;
  if (text == "0" || text == "false" || text == "no") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<duration> take_duration(url& url, std::string_view name) {
  const auto text = url.take(name);
  if (!text) return std::nullopt;
  const auto value = parse_duration(*text);
  if (!value) refuse(name, "a time such as 30s, 500ms, 2m or 1h");
  return value;
}

std::optional<bool> take_bool(url& url, std::string_view name) {
  const auto text = url.take(name);
  if (!text) return std::nullopt;
  const auto value = parse_bool(*text);
  if (!value) refuse(name, "1, 0, true, false, yes or no");
  return value;
}

std::optional<std::uint64_t> take_unsigned(url& url, std::string_view name, std::uint64_t max) {
  const auto text = url.take(name);
  if (!text) return std::nullopt;
  const auto value = parse_unsigned(*text);
  if (!value || *value > max) refuse(name, "a whole number from 0 to " + std::to_string(max));
  return value;
}

void require_hosts(const url& url) {
  if (!url.hosts.empty()) return;
  throw error{errc::invalid_url, "crosslock URL, byte offset " +
                                     std::to_string(url.scheme.size() + 1) +
                                     ": expected \"//\" and a host"};
}

}  // namespace crosslock::seam
