#include "cli/commands/engines.hpp"

#include "cli/exit_code.hpp"
#include "cli/say.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"
#include "engine/registry.hpp"

#include <chrono>
#include <exception>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {
namespace {

struct engine_row {
  std::string name;
  std::vector<std::string> schemes;
  std::string state;           ///< "linked", "loadable" or "missing"
  const seam::traits* offers;  ///< null when it is missing
};

/// The registry has a row per scheme; people think in engines.
std::vector<engine_row> engine_rows() {
  std::vector<engine_row> rows;
  for (const seam::registered& row : seam::registry()) {
    if (rows.empty() || rows.back().name != row.engine) {
      const seam::engine_export* const found = seam::find_engine(row);
      const char* const state = row.linked ? "linked" : found ? "loadable" : "missing";
      rows.push_back({std::string{row.engine}, {}, state, found ? found->offers : nullptr});
    }
    rows.back().schemes.emplace_back(row.scheme);
  }
  return rows;
}

/// Where locks are kept when no --url says it.
struct default_target {
  std::string url;     ///< as it may be shown; empty when there is none
  std::string source;  ///< who says so; without a URL, what is wrong
  std::string engine;
};

default_target find_default() {
  try {
    const target found = find_target({});
    const seam::url parsed = seam::parse_url(found.url);
    default_target result{found.shown(), found.source, {}};
    for (const seam::registered& row : seam::registry()) {
      if (row.scheme == parsed.scheme) result.engine = row.engine;
    }
    if (result.engine.empty()) (void)seam::require_engine(parsed);  // says what there is
    return result;
  } catch (const std::exception& why) {
    return {{}, why.what(), {}};
  }
}

std::string library_of(const engine_row& row) { return "libcrosslock-" + row.name; }

/// Receipts are for other processes.
bool gives_receipts(const seam::traits& offers) {
  return offers.outlives_process && !offers.within_process;
}

/// As one would write it: 24h, and not 1d00h.
std::string lease_word(duration lease) {
  constexpr std::chrono::hours hour{1};
  return lease % hour == duration::zero() ? std::to_string(lease / hour) + 'h' : show_time(lease);
}

std::string offers_of(const engine_row& row) {
  if (row.offers == nullptr) return "install " + library_of(row);
  std::string text;
  const auto add = [&text](bool offered, std::string_view word) {
    if (offered) text.append(text.empty() ? "" : " ").append(word);
  };
  add(row.offers->shared, "shared");
  add(row.offers->permits, "permits");
  add(row.offers->first_come, "first-come");
  add(row.offers->pushes, "pushes");
  add(gives_receipts(*row.offers), "receipts");
  add(true, row.offers->lease_is_session ? "session" : "lease");
  return text + ' ' + lease_word(row.offers->lease_min) + " to " +
         lease_word(row.offers->lease_max);
}

void show_table(std::ostream& out) {
  const auto line = [&out](std::string_view name, std::string_view schemes, std::string_view use,
                           std::string_view offers) {
    out << std::left << std::setw(11) << name << std::setw(25) << schemes << std::setw(10) << use
        << offers << '\n';
  };
  line("ENGINE", "SCHEMES", "USE", "OFFERS");
  for (const engine_row& row : engine_rows()) {
    std::string schemes;
    for (const std::string& scheme : row.schemes) schemes += (schemes.empty() ? "" : " ") + scheme;
    line(row.name, schemes, row.state, offers_of(row));
  }
  const default_target found = find_default();
  out << "default: " << (found.url.empty() ? "none" : found.url) << " (" << found.source << ")\n";
}

void show_objects(std::ostream& out) {
  const default_target found = find_default();
  for (const engine_row& row : engine_rows()) {
    nlohmann::ordered_json object{
        {"engine", row.name}, {"schemes", row.schemes}, {"state", row.state}};
    if (row.offers == nullptr) {
      object["install"] = library_of(row);
    } else {
      const seam::traits& offers = *row.offers;
      object["shared"] = offers.shared;
      object["permits"] = offers.permits;
      object["first_come"] = offers.first_come;
      object["pushes"] = offers.pushes;
      object["receipts"] = gives_receipts(offers);
      object["session"] = offers.lease_is_session;
      object["lease_min_ms"] = offers.lease_min / std::chrono::milliseconds{1};
      object["lease_max_ms"] = offers.lease_max / std::chrono::milliseconds{1};
    }
    if (row.name == found.engine) {
      object["default"] = {{"url", found.url}, {"source", found.source}};
    }
    print_line(out, object);
  }
}

}  // namespace

command offer_engines(command_line& program) {
  command_words words = program.add_command("engines", "Show the engines, and what each offers");
  const auto json = std::make_shared<bool>(false);
  words.add_flag("--json", *json, "One JSON object per line");
  return {words, [json] {
            *json ? show_objects(std::cout) : show_table(std::cout);
            return exit_code::success;
          }};
}

}  // namespace crosslock::cli
