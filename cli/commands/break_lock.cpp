#include "cli/commands/break_lock.hpp"

#include "cli/exit_code.hpp"
#include "cli/looking/lock_text.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/plain_text.hpp"
#include "cli/say.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

namespace crosslock::cli {
namespace {

struct break_request {
  target_flags where;
  std::string name;
  std::string owner;
  bool yes = false;
};

owner_id read_owner(const std::string& text) {
  const auto owner = owner_id::parse(text);
  if (owner && !owner->nobody()) return *owner;
  throw usage_error{"--owner-id is '" + printable(text) +
                    "': expected the 32 hexadecimal digits that crosslock show prints"};
}

std::string quoted(const lock_name& name) { return "'" + printable(name.view()) + "'"; }

const claim_info* find_owner(const std::vector<claim_info>& claims, const owner_id& owner) {
  const auto found = std::find_if(claims.begin(), claims.end(),
                                  [&](const claim_info& each) { return each.owner == owner; });
  return found == claims.end() ? nullptr : &*found;
}

/// What there is to know for the next attempt.
void explain_miss(const lock_info& seen, const lock_name& name, const owner_id& owner) {
  std::string text = "nothing was broken: " + owner.to_string() + " does not hold " + quoted(name);
  if (find_owner(seen.line, owner) != nullptr) text += ", it waits for it";
  complain(text);
  if (seen.holders.empty()) complain("nobody holds it now");
  for (const claim_info& each : seen.holders) complain("it is held by " + holder_text(each));
}

/// Anything but a clear yes is a no.
bool agreed(const claim_info& holder, const lock_name& name) {
  const char* const warning =
      holder.foreign ? "It is not told, and has no fence: be sure that it is dead."
                     : "It is told, but may still write for a moment; only its fence stops that.";
  std::cerr << quoted(name) << " is held by " << holder_text(holder) << '\n'
            << painted(warning, colour::yellow, likes_colours(STDERR_FILENO))
            << "\nBreak it? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (std::cin.eof()) std::cerr << '\n';
  return answer == "y" || answer == "Y" || answer == "yes";
}

int break_lock(const break_request& wanted, std::ostream& out) {
  const lock_name name{wanted.name};
  const owner_id owner = read_owner(wanted.owner);
  if (!wanted.yes && (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1)) {
    throw usage_error{"there is no terminal to ask at: say --yes to break " + quoted(name) +
                      " without a question"};
  }
  lock_viewer looking{wanted.where};
  const lock_info seen = looking.look(name);
  const claim_info* const holder = find_owner(seen.holders, owner);
  if (holder == nullptr) {
    explain_miss(seen, name, owner);
    return exit_code::busy;
  }
  if (!wanted.yes && !agreed(*holder, name)) {
    complain("nothing was broken");
    return exit_code::busy;
  }
  if (!looking.break_lock(name, owner)) {
    explain_miss(looking.look(name), name, owner);
    return exit_code::busy;
  }
  out << "broke " << quoted(name) << ", which was held by " << holder_text(*holder) << '\n';
  return exit_code::success;
}

}  // namespace

command offer_break(command_line& program) {
  command_words words = program.add_command("break", "Take a lock away from its holder");
  const auto wanted = std::make_shared<break_request>();
  words.add_option("NAME", wanted->name, "The lock").required();
  words.add_option("--owner-id", wanted->owner, "Who has it now, as crosslock show says")
      .required();
  words.add_flag("--yes", wanted->yes, "Do not ask");
  offer_target(words, wanted->where);
  return {words, [wanted] { return break_lock(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
