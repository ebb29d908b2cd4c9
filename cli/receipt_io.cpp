#include "cli/receipt_io.hpp"

#include "cli/command.hpp"
#include "cli/looking/plain_text.hpp"
#include "cli/say.hpp"
#include "engine/registry.hpp"

#include <crosslock/error.hpp>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace crosslock::cli {
namespace {

std::string first_line(std::istream& in) {
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

std::string receipt_text(const std::vector<std::string>& given, std::istream& in) {
  if (given.size() > 1) throw usage_error{"expected one RECEIPT, and nothing else behind it"};
  if (!given.empty()) return given.front() == "-" ? first_line(in) : given.front();
  const char* const kept = std::getenv("CROSSLOCK_RECEIPT");
  if (kept != nullptr && *kept != '\0') return kept;
  throw usage_error{"RECEIPT is required: what 'crosslock acquire' has printed, or - to read it " +
                    std::string{"from standard input, or nothing when CROSSLOCK_RECEIPT is set"}};
}

const seam::traits& traits_at(const target& where) {
  return *seam::require_engine(seam::parse_url(where.url)).offers;
}

}  // namespace

void offer_receipt(command_words& words, std::vector<std::string>& given) {
  words.add_option("RECEIPT", given, "What acquire has printed; -: read it from standard input")
      .untyped();
}

receipt read_receipt(const std::vector<std::string>& given, std::istream& in) {
  const std::string text = receipt_text(given, in);
  try {
    return receipt::parse(text);
  } catch (const error& why) {
    throw usage_error{std::string{why.what()} + "; give it as 'crosslock acquire' has printed it"};
  }
}

void require_receipts(const target& where) {
  const seam::traits& there = traits_at(where);
  if (there.outlives_process && !there.within_process) return;
  const std::string engine{there.name};
  throw error{errc::unsupported,
              "a lock of the engine '" + engine +
                  "' ends with the process that took it, so there are no receipts for it: use "
                  "'crosslock run' or 'crosslock hold', or another engine (--url, CROSSLOCK_URL)",
              {.engine = engine}};
}

void require_receipts(const target& where, const receipt& given) {
  const std::string there{traits_at(where).name};
  if (given.engine != there) {
    throw error{errc::conflict, "the receipt is of the engine '" + printable(given.engine) +
                                    "', but " + where.source + " names '" + there +
                                    "': say where its lock is kept, with --url or CROSSLOCK_URL"};
  }
  require_receipts(where);
}

void offer_format(command_words& words, std::optional<std::string>& format) {
  words.add_option("--format", format, "Print variables for a shell or systemd (env), or JSON")
      .one_of({"env", "json"});
}

receipt_format read_format(const std::optional<std::string>& format) {
  if (!format) return receipt_format::bare;
  return *format == "env" ? receipt_format::env : receipt_format::json;
}

// Both read double quotes alike: a backslash takes the meaning from these four, and stays where it
// is before all others. They differ about single quotes: systemd has no way to put one inside.
std::string quoted_value(std::string_view value) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:%+@-";
  if (!value.empty() && value.find_first_not_of(plain) == std::string_view::npos) {
    return std::string{value};
  }
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\' || c == '`' || c == '$') text += '\\';
    text += c;
  }
  return text + '"';
}

std::string shown(const receipt& given, std::string_view name, duration lease,
                  receipt_format format) {
  const std::string text = given.to_string();
  if (format == receipt_format::bare) return text + '\n';
  if (format == receipt_format::json) {
    const nlohmann::ordered_json object{
        {"receipt", text},
        {"name", name},
        {"fence", given.fence.to_string()},
        {"owner_id", given.owner.to_string()},
        {"engine", given.engine},
        {"mode", mode_word(given.mode)},
        {"lease_ms", lease / std::chrono::milliseconds{1}},
    };
    return object.dump() + '\n';
  }
  const std::pair<std::string_view, std::string> variables[] = {
      {"CROSSLOCK_RECEIPT", text},
      {"CROSSLOCK_NAME", std::string{name}},
      {"CROSSLOCK_FENCE", given.fence.to_string()},
      {"CROSSLOCK_OWNER_ID", given.owner.to_string()},
      {"CROSSLOCK_ENGINE", given.engine},
  };
  std::string lines;
  for (const auto& [variable, value] : variables) {
    lines.append(variable).append("=").append(quoted_value(value)).append("\n");
  }
  return lines;
}

}  // namespace crosslock::cli
