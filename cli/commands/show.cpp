#include "cli/commands/show.hpp"

#include "cli/exit_code.hpp"
#include "cli/looking/lock_json.hpp"
#include "cli/looking/lock_text.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/repeat.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

struct show_request {
  target_flags where;
  std::string name;
  bool json = false;
  bool watch = false;
  std::optional<std::string> interval;
};

int show(const show_request& wanted, std::ostream& out) {
  const lock_name name{wanted.name};
  const duration interval = read_interval(wanted.interval, 1s);
  lock_viewer looking{wanted.where};
  const auto lines = [](const seen_locks& locks, const canvas& on) {
    return show_lines(locks.front(), on);
  };
  const auto object = [](const seen_locks& locks) { return lock_json(locks.front()); };
  const auto look = [&] { return seen_locks{looking.look(name)}; };
  if (wanted.watch) {
    repeat({look, lines, object, interval, wanted.json}, out);
  } else if (wanted.json) {
    print_object(out, object(look()));
  } else {
    // Nothing of this is cut: whoever asks for one lock wants to know.
    const canvas endless{.columns = 0, .colours = canvas_of_output().colours};
    for (const std::string& each : lines(look(), endless)) out << each << '\n';
  }
  return exit_code::success;
}

}  // namespace

command offer_show(command_line& program) {
  command_words words =
      program.add_command("show", "Show who holds one lock, and who waits for it");
  const auto wanted = std::make_shared<show_request>();
  words.add_option("NAME", wanted->name, "The lock").required();
  words.add_flag("--json", wanted->json, "One JSON object");
  words.add_flag("--watch", wanted->watch, "Again and again, when something has changed");
  words.add_option("-d,--interval", wanted->interval, "With --watch: how often to look (1s)");
  offer_target(words, wanted->where);
  return {words, [wanted] { return show(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
