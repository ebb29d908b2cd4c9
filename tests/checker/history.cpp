// Names, files and merging; the JSON of one event is in json_line.cpp.
#include "checker/history.hpp"

#include "checker/names.hpp"

#include <algorithm>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <stdexcept>

namespace crosslock::checker {

std::string_view to_string(phase ph) noexcept { return name_of(phase_names, ph); }
std::string_view to_string(action f) noexcept { return name_of(action_names, f); }
std::string_view to_string(fault kind) noexcept { return name_of(fault_names, kind); }

void write_jsonl(std::ostream& out, const history& events) {
  for (const event& e : events) {
    out << to_json(e) << '\n';
  }
}

history read_jsonl(std::istream& in, const std::string& called) {
  history events;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) {
      break;
    }
    try {
      events.push_back(from_json(line));
    } catch (const std::runtime_error& wrong) {
      throw std::runtime_error(called + ":" + std::to_string(number) + ": " + wrong.what());
    }
  }
  return events;
}

history read_file(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) {
    throw std::runtime_error("cannot read the history " + path.string());
  }
  return read_jsonl(in, path.string());
}

history merge(std::vector<history> parts) {
  history all;
  for (history& part : parts) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const event& a, const event& b) { return a.t < b.t; });
  return all;
}

}  // namespace crosslock::checker
