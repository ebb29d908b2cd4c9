// The command line: reads the arguments, calls one command, turns errors into exit codes.
#include "cli/doctor.hpp"
#include "cli/engines.hpp"
#include "cli/exit_code.hpp"
#include "cli/loader.hpp"
#include "cli/run.hpp"
#include "engine/registry.hpp"

#include <crosslock/error.hpp>
#include <crosslock/version.hpp>

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using crosslock::cli::exit_code;

constexpr const char* run_usage = "Usage: crosslock run [OPTIONS] NAME [--] COMMAND [ARG...]\n";
constexpr const char* run_footer =
    R"(Waits for NAME, and exits with the code of COMMAND, or with 128+n if signal n killed it.
COMMAND finds CROSSLOCK_NAME, CROSSLOCK_FENCE, CROSSLOCK_OWNER_ID and CROSSLOCK_ENGINE in its
environment. If the lock is lost it gets TERM, then KILL, and the exit code is 79.
Signals are passed on. After kill -9 of crosslock itself COMMAND goes on without the lock.
Locks are kept where CROSSLOCK_URL says; by default in a file of yours (see man crosslock).)";

/// CLI11 knows nothing of words that are not options.
class run_formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override { return run_usage; }
};

/// Without standard streams our own files would take their numbers, and a complaint would go into
/// one of them. The command gets them as closed as they were.
void keep_standard_descriptors_apart() {
  for (int number = 0; number < 3; ++number) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR | O_CLOEXEC) != number) return;
  }
}

int answer(const std::vector<std::string>& words, const std::vector<std::string>* after) {
  CLI::App app{"Locks that hold across processes and machines.", "crosslock"};
  app.set_version_flag("--version", std::string{"crosslock "} + crosslock::version());
  app.require_subcommand(0, 1);

  bool json = false;
  CLI::App* engines = app.add_subcommand("engines", "Show which engines this program can use");
  engines->add_flag("--json", json, "One JSON object per line");

  crosslock::cli::doctor_request to_examine;
  CLI::App* doctor =
      app.add_subcommand("doctor", "Say whether locks are well kept where they are kept");
  doctor->add_option("--url", to_examine.url, "Where; default: CROSSLOCK_URL, or a file of yours");
  doctor->add_flag("--json", to_examine.json, "One JSON object per line");

  CLI::App* run = app.add_subcommand("run", "Hold a lock while a command runs");
  run->formatter(std::make_shared<run_formatter>());
  run->footer(run_footer);
  run->prefix_command();  // from the first word that is no option on, nothing is looked at

  crosslock::cli::run_request to_run;
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    // Asked for only now: CLI11 itself would say the same of a command that does not exist.
    if (app.get_subcommands().empty()) throw CLI::RequiredError{"A command"};
    if (after != nullptr && !run->parsed()) throw CLI::ExtrasError{*after};
    if (run->parsed()) to_run = crosslock::cli::read_run_words(run->remaining(), after);
  } catch (const CLI::ParseError& wrong) {
    // --help and --version arrive here as well, with the code 0.
    return app.exit(wrong) == 0 ? exit_code::success : exit_code::usage;
  } catch (const std::invalid_argument& wrong) {
    std::cerr << "crosslock: " << wrong.what() << '\n' << run_usage;
    return exit_code::usage;
  }
  if (run->parsed()) return crosslock::cli::run(to_run);
  int code = exit_code::success;
  if (doctor->parsed()) {
    code = crosslock::cli::examine(to_examine, std::cout);
  } else {
    crosslock::cli::show_engines(std::cout, json);
  }
  return std::cout.flush() ? code : exit_code::internal;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors_apart();
  crosslock::seam::set_loader(crosslock::cli::load_engine);
  try {
    // What follows `--` is kept from CLI11 altogether.
    char** const end = argv + argc;
    char** const mark = std::find(argv + std::min(argc, 1), end, std::string_view{"--"});
    const std::vector<std::string> words(argv + std::min(argc, 1), mark);
    const std::vector<std::string> after(mark == end ? end : mark + 1, end);
    return answer(words, mark == end ? nullptr : &after);
  } catch (const crosslock::error& failure) {
    std::cerr << "crosslock: " << failure.what() << '\n';
    return crosslock::cli::exit_code_of(failure);
  } catch (const std::exception& failure) {
    std::cerr << "crosslock: " << failure.what() << '\n';
    return exit_code::internal;
  }
}
