// The command line: reads the arguments, calls one command, turns errors into exit codes.
#include "cli/engines.hpp"
#include "cli/exit_code.hpp"
#include "cli/loader.hpp"
#include "engine/registry.hpp"

#include <crosslock/error.hpp>
#include <crosslock/version.hpp>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

namespace {

using crosslock::cli::exit_code;

int run(int argc, char** argv) {
  CLI::App app{"Locks that hold across processes and machines.", "crosslock"};
  app.set_version_flag("--version", std::string{"crosslock "} + crosslock::version());
  app.require_subcommand(0, 1);

  bool json = false;
  CLI::App* engines = app.add_subcommand("engines", "Show which engines this program can use");
  engines->add_flag("--json", json, "One JSON object per line");

  try {
    app.parse(argc, argv);
    // Asked for only now: CLI11 itself would say the same of a command that does not exist.
    if (app.get_subcommands().empty()) throw CLI::RequiredError{"A command"};
  } catch (const CLI::ParseError& wrong) {
    // --help and --version arrive here as well, with the code 0.
    return app.exit(wrong) == 0 ? exit_code::success : exit_code::usage;
  }
  crosslock::cli::show_engines(std::cout, json);
  return std::cout.flush() ? exit_code::success : exit_code::internal;
}

}  // namespace

int main(int argc, char** argv) {
  crosslock::seam::set_loader(crosslock::cli::load_engine);
  try {
    return run(argc, argv);
  } catch (const crosslock::error& failure) {
    std::cerr << "crosslock: " << failure.what() << '\n';
    return crosslock::cli::exit_code_of(failure);
  } catch (const std::exception& failure) {
    std::cerr << "crosslock: " << failure.what() << '\n';
    return exit_code::internal;
  }
}
