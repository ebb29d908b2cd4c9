// The command line: reads the arguments, calls one command, turns errors into exit codes.
#include "cli/command.hpp"
#include "cli/commands/acquire.hpp"
#include "cli/commands/break_lock.hpp"
#include "cli/commands/completion.hpp"
#include "cli/commands/doctor.hpp"
#include "cli/commands/engines.hpp"
#include "cli/commands/hold.hpp"
#include "cli/commands/list.hpp"
#include "cli/commands/receipts.hpp"
#include "cli/commands/run.hpp"
#include "cli/commands/show.hpp"
#include "cli/commands/top.hpp"
#include "cli/commands/watch.hpp"
#include "cli/exit_code.hpp"
#include "cli/loader.hpp"
#include "cli/say.hpp"
#include "engine/registry.hpp"

#include <crosslock/error.hpp>

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace crosslock::cli;

/// Without standard streams our own files would take their numbers, and a complaint would go into
/// one of them. The command gets them as closed as they were.
void keep_standard_descriptors_apart() {
  for (int number = 0; number < 3; ++number) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    if (open("/dev/null", O_RDWR | O_CLOEXEC) != number) return;
  }
}

/// In the order in which --help shows them.
std::vector<command> offer_all(command_line& program, const behind_dashes& behind) {
  return {
      offer_run(program, behind), offer_hold(program),    offer_acquire(program),
      offer_renew(program),       offer_release(program), offer_list(program),
      offer_show(program),        offer_watch(program),   offer_top(program),
      offer_break(program),       offer_engines(program), offer_doctor(program),
      offer_completion(program),
  };
}

int answer(const std::vector<std::string>& words, const behind_dashes& behind) {
  command_line program;
  const std::vector<command> commands = offer_all(program, behind);
  if (const auto code = program.read(words)) return *code;
  const auto chosen = std::find_if(commands.begin(), commands.end(),
                                   [](const command& each) { return each.words.chosen(); });
  const int code = chosen->act();
  if (std::cout.flush()) return code;
  complain("standard output could not be written: is the disk full?");
  return exit_code::internal;
}

/// What follows `--` in a run is kept from the reader of options altogether.
int answer(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "run") return answer(words, std::nullopt);
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return answer(words, std::nullopt);
  return answer({words.begin(), mark}, std::vector<std::string>{mark + 1, words.end()});
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors_apart();
  crosslock::seam::set_loader(load_engine);
  try {
    return answer(argc, argv);
  } catch (const usage_error& wrong) {
    complain(wrong.what());
    return exit_code::usage;
  } catch (const crosslock::error& failure) {
    const bool away = failure.which() == crosslock::errc::unreachable;
    complain(text_of(failure) + (away ? "; does it run there? crosslock doctor says more" : ""));
    return exit_code_of(failure);
  } catch (const std::exception& failure) {
    complain(failure.what());
    return exit_code::internal;
  }
}
