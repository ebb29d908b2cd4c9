// The text is shown in other people's terminals and stands in one line of theirs.
#include "cli/identity.hpp"

#include "cli/command.hpp"

#include <crosslock/error.hpp>
#include <crosslock/lock_name.hpp>

#include <algorithm>

namespace crosslock::cli {
namespace {

constexpr std::size_t owner_max = 128;
constexpr std::size_t key_max = 32;
constexpr std::size_t value_max = 128;
constexpr std::size_t meta_max = 8;
constexpr std::string_view key_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/// What may stand in the name of a lock may stand in a terminal.
bool fit_to_show(std::string_view text) {
  try {
    (void)lock_name{"-" + std::string{text}};
    return true;
  } catch (const error&) {
    return false;
  }
}

void check_text(const std::string& option, std::string_view text, std::size_t most) {
  if (text.empty()) throw usage_error{option + " is empty: leave it out, or say something"};
  if (text.size() > most) {
    throw usage_error{option + " has " + std::to_string(text.size()) + " bytes: at most " +
                      std::to_string(most) + " are shown to others"};
  }
  if (!fit_to_show(text)) {
    throw usage_error{option + " has control characters or is no UTF-8: give one line of text"};
  }
}

void check_meta(std::string_view pair) {
  const std::size_t equals = pair.find('=');
  const std::string_view key = pair.substr(0, equals);
  const bool good_key = !key.empty() && key.size() <= key_max &&
                        key.find_first_not_of(key_characters) == std::string_view::npos;
  if (equals == std::string_view::npos || !good_key) {
    throw usage_error{"--meta: expected KEY=VALUE, where KEY has 1 to " + std::to_string(key_max) +
                      " letters, digits, '_', '.' or '-'"};
  }
  check_text("--meta " + std::string{key}, pair.substr(equals + 1), value_max);
}

}  // namespace

void offer_identity(command_words& words, identity_flags& flags) {
  words.add_option("--owner", flags.owner, "Say who holds it, for others to see");
  // Each takes one word: the next one is NAME.
  words.add_option("--meta", flags.meta, "Say more of it: KEY=VALUE; may be repeated").repeated();
}

std::string note(const identity_flags& flags, std::string_view otherwise) {
  if (flags.owner) check_text("--owner", *flags.owner, owner_max);
  if (flags.meta.size() > meta_max) {
    throw usage_error{"--meta was given " + std::to_string(flags.meta.size()) + " times: at most " +
                      std::to_string(meta_max) + " are shown to others"};
  }
  std::string text{flags.owner ? std::string_view{*flags.owner} : otherwise};
  std::string_view before = text.empty() ? "" : "; ";
  for (const std::string& pair : flags.meta) {
    check_meta(pair);
    text.append(before).append(pair);
    before = ", ";
  }
  return text;
}

}  // namespace crosslock::cli
