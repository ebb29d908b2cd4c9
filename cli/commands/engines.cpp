#include "cli/commands/engines.hpp"

#include "cli/exit_code.hpp"
#include "cli/say.hpp"
#include "engine/registry.hpp"

#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace crosslock::cli {
namespace {

struct engine_row {
  std::string name;
  std::vector<std::string> schemes;
  std::string state;  ///< "linked", "loadable" or "missing"
};

std::string state_of(const seam::registered& row) {
  if (row.open != nullptr) return "linked";
  return seam::find_factory(row) != nullptr ? "loadable" : "missing";
}

/// The registry has a row per scheme; people think in engines.
std::vector<engine_row> engine_rows() {
  std::vector<engine_row> rows;
  for (const seam::registered& row : seam::registry()) {
    if (rows.empty() || rows.back().name != row.engine) {
      rows.push_back({std::string{row.engine}, {}, state_of(row)});
    }
    rows.back().schemes.emplace_back(row.scheme);
  }
  return rows;
}

std::string library_of(const engine_row& row) { return "libcrosslock-" + row.name; }

void show_table(std::ostream& out) {
  const auto line = [&out](std::string_view name, std::string_view schemes, std::string_view use) {
    out << std::left << std::setw(11) << name << std::setw(26) << schemes << use << '\n';
  };
  line("ENGINE", "SCHEMES", "USE");
  for (const engine_row& row : engine_rows()) {
    std::string schemes;
    for (const std::string& scheme : row.schemes) schemes += (schemes.empty() ? "" : " ") + scheme;
    line(row.name, schemes,
         row.state == "missing" ? "missing: install " + library_of(row) : row.state);
  }
}

void show_objects(std::ostream& out) {
  for (const engine_row& row : engine_rows()) {
    nlohmann::ordered_json object{
        {"engine", row.name}, {"schemes", row.schemes}, {"state", row.state}};
    if (row.state == "missing") object["install"] = library_of(row);
    print_line(out, object);
  }
}

}  // namespace

command offer_engines(CLI::App& program) {
  CLI::App* const words =
      program.add_subcommand("engines", "Show which engines this program can use");
  const auto json = std::make_shared<bool>(false);
  words->add_flag("--json", *json, "One JSON object per line");
  return {words, [json] {
            *json ? show_objects(std::cout) : show_table(std::cout);
            return exit_code::success;
          }};
}

}  // namespace crosslock::cli
