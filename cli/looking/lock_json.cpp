#include "cli/looking/lock_json.hpp"

#include "cli/looking/kind.hpp"
#include "cli/looking/who_text.hpp"
#include "cli/say.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

namespace crosslock::cli {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

ordered_json holder_json(const claim_info& holder) {
  ordered_json object;
  add_claim(object, holder);
  object["fence"] = fence_json(holder);
  object["age_ms"] = holder.foreign ? ordered_json{} : ordered_json(holder.age / 1ms);
  const bool endless = holder.lease_left == duration::max();
  object["lease_left_ms"] = endless ? ordered_json{} : ordered_json(holder.lease_left / 1ms);
  add_identity(object, holder);
  return object;
}

ordered_json waiter_json(const claim_info& waiter) {
  ordered_json object;
  add_claim(object, waiter);
  object["age_ms"] = waiter.age / 1ms;
  add_identity(object, waiter);
  return object;
}

/// U+007F to U+009F, which JSON need not escape.
std::string without_controls(const std::string& json) {
  std::string safe;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    const auto next = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : 0);
    if (byte == 0x7f) {
      safe += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      constexpr std::string_view digits = "0123456789abcdef";
      safe += "\\u00";
      safe += digits[next >> 4U];
      safe += digits[next & 15U];
      ++i;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace

void add_identity(ordered_json& object, const claim_info& claim) {
  object["who"] = claim.who;
  const auto parts = claim.foreign ? std::nullopt : parse_who(claim.who);
  object["user"] = parts ? ordered_json(parts->user) : ordered_json{};
  object["host"] = parts ? ordered_json(parts->host) : ordered_json{};
  object["pid"] = parts ? ordered_json(parts->pid) : ordered_json{};
  object["program"] = parts ? ordered_json(parts->program) : ordered_json{};
  const bool noted = parts && !parts->note.empty();
  object["note"] = noted ? ordered_json(parts->note) : ordered_json{};
  object["foreign"] = claim.foreign;
}

void add_claim(ordered_json& object, const claim_info& claim) {
  object["owner_id"] =
      claim.owner.nobody() ? ordered_json{} : ordered_json(claim.owner.to_string());
  object["mode"] = mode_word(claim.mode);
  if (claim.mode != claim_mode::permit) return;
  object["permits"] = claim.permits;
  object["of"] = claim.of;
}

ordered_json fence_json(const claim_info& claim) {
  return claim.fence == fence{} ? ordered_json{} : ordered_json(claim.fence.to_string());
}

ordered_json lock_json(const lock_info& lock) {
  const kind_and_name parts = kind_of(lock.name);
  ordered_json holders = ordered_json::array();
  for (const claim_info& each : lock.holders) holders.push_back(holder_json(each));
  ordered_json line = ordered_json::array();
  for (const claim_info& each : lock.line) line.push_back(waiter_json(each));
  return {{"name", parts.name},
          {"kind", parts.kind},
          {"holders", std::move(holders)},
          {"line", std::move(line)}};
}

void print_object(std::ostream& out, const ordered_json& object) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  out << without_controls(object.dump(-1, ' ', false, replace)) << std::endl;
}

}  // namespace crosslock::cli
