#include "cli/commands/list.hpp"

#include "cli/exit_code.hpp"
#include "cli/looking/lock_json.hpp"
#include "cli/looking/lock_text.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/plain_text.hpp"
#include "cli/looking/repeat.hpp"

#include <crosslock/error.hpp>

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

struct list_request {
  target_flags where;
  std::string beginning;
  bool json = false;
  bool names = false;
  bool all = false;
  bool watch = false;
  std::optional<std::string> interval;
};

nlohmann::ordered_json all_in_one(const seen_locks& locks) {
  nlohmann::ordered_json objects = nlohmann::ordered_json::array();
  for (const lock_info& each : locks) objects.push_back(lock_json(each));
  return {{"locks", std::move(objects)}};
}

/// Exact, for scripts; but a name that no program can give, and somebody has forged, is none.
void print_names(const seen_locks& locks, std::ostream& out) {
  const bool somebody_looks = isatty(STDOUT_FILENO) == 1;
  for (const lock_info& each : locks) {
    try {
      (void)lock_name::stored(each.name);
      out << (somebody_looks ? printable(title_of(each)) : title_of(each)) << '\n';
    } catch (const error&) {
      continue;
    }
  }
}

void print_once(const list_request& wanted, const seen_locks& locks, std::ostream& out) {
  if (wanted.json) {
    for (const lock_info& each : locks) print_object(out, lock_json(each));
  } else if (wanted.names) {
    print_names(locks, out);
  } else {
    for (const std::string& each : list_lines(locks, canvas_of_output())) out << each << '\n';
  }
}

int list(const list_request& wanted, std::ostream& out) {
  const duration interval = read_interval(wanted.interval, 1s);
  lock_viewer looking{wanted.where, wanted.all};
  const auto look = [&] { return looking.list(wanted.beginning); };
  if (wanted.watch) {
    repeat({look, list_lines, all_in_one, interval, wanted.json}, out);
  } else {
    print_once(wanted, look(), out);
  }
  return exit_code::success;
}

}  // namespace

command offer_list(command_line& program) {
  command_words words =
      program.add_command("list", "Show who holds which locks, and who waits for them");
  const auto wanted = std::make_shared<list_request>();
  words.add_option("PREFIX", wanted->beginning, "Only names that begin so");
  const option json = words.add_flag("--json", wanted->json, "One JSON object per line");
  const option watch =
      words.add_flag("--watch", wanted->watch, "Again and again, when something has changed");
  words.add_option("-d,--interval", wanted->interval, "With --watch: how often to look (1s)");
  words.add_flag("--names", wanted->names, "Only the names, one per line")
      .excludes(json)
      .excludes(watch);
  words.add_flag("--all", wanted->all, "Also what elections and barriers lock for themselves");
  offer_target(words, wanted->where);
  return {words, [wanted] { return list(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
