#include "cli/looking/kind.hpp"

namespace crosslock::cli {
namespace {

constexpr std::string_view opening = "crosslock:{";
constexpr std::string_view closing = "}:";

}  // namespace

kind_and_name kind_of(std::string_view stored) noexcept {
  const std::size_t end = stored.find(closing);
  if (!stored.starts_with(opening) || end == std::string_view::npos) return {"lock", stored};
  return {stored.substr(opening.size(), end - opening.size()), stored.substr(end + closing.size())};
}

std::string stored_name(const kind_and_name& parts) {
  if (!parts.is_internal()) return std::string{parts.name};
  std::string stored{opening};
  stored.append(parts.kind).append(closing).append(parts.name);
  return stored;
}

}  // namespace crosslock::cli
