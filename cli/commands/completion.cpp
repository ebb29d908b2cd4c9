// What a shell is told about commands and options is read from where they are defined, so that it
// is always true; how a shell wants it is written down in the scripts.
#include "cli/commands/completion.hpp"

#include "cli/completion_scripts.hpp"
#include "cli/exit_code.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <vector>

namespace crosslock::cli {
namespace {

/// All ways to write it.
std::vector<std::string> dashed(const option_description& option) {
  std::vector<std::string> all;
  for (const std::string& one : option.brief) all.push_back("-" + one);
  for (const std::string& one : option.whole) all.push_back("--" + one);
  return all;
}

std::string quoted(std::string_view text, std::string_view quote) {
  std::string made = "'";
  for (const char each : text) made += each == '\'' ? std::string{quote} : std::string{each};
  return made + "'";
}

/// What stands in place of each mark.
using fillings = std::map<std::string, std::string, std::less<>>;

/// `between` stands between all options that take a value, each behind its command.
std::string valued_words(const std::vector<command_description>& all, const std::string& between) {
  std::string text;
  for (const command_description& command : all) {
    for (const option_description& option : command.options) {
      if (!option.valued) continue;
      for (const std::string& word : dashed(option)) {
        text += (text.empty() ? "" : between) + quoted(command.name + " " + word, "");
      }
    }
  }
  return text;
}

fillings fill_bash(const std::vector<command_description>& all) {
  fillings made;
  made["commands"] = "     ";
  for (const command_description& command : all) {
    made["commands"] += " " + command.name;
    std::string words;
    for (const option_description& option : command.options) {
      for (const std::string& word : dashed(option)) words += (words.empty() ? "" : " ") + word;
    }
    made["options"] += "    " + command.name + ") echo '" + words + "' ;;\n";
  }
  made["commands"] += "\n";
  made["valued"] = "    " + valued_words(all, " | ") + ") return 0 ;;\n";
  return made;
}

/// `_describe` takes what stands before the first colon for the word.
fillings fill_zsh(const std::vector<command_description>& all) {
  constexpr std::string_view quote = "'\\''";
  fillings made;
  for (const command_description& command : all) {
    made["commands"] += "    " + quoted(command.name + ":" + command.about, quote) + "\n";
    std::string words;
    std::string valued;
    for (const option_description& option : command.options) {
      for (const std::string& word : dashed(option)) {
        words += "        " + quoted(word + ":" + option.about, quote) + "\n";
        if (option.valued) valued += (valued.empty() ? "" : " ") + word;
      }
    }
    made["options"] += "    " + command.name + ")\n      options=(\n" + words +
                       "      )\n      valued=(" + valued + ")\n      ;;\n";
  }
  return made;
}

fillings fill_fish(const std::vector<command_description>& all) {
  constexpr std::string_view quote = "\\'";
  const std::string begin = "complete -c crosslock -n ";
  fillings made;
  for (const command_description& command : all) {
    made["commands"] += begin + "__crosslock_needs_command -a " + command.name + " -d " +
                        quoted(command.about, quote) + "\n";
    for (const option_description& option : command.options) {
      std::string words;
      for (const std::string& one : option.brief) words += " -s " + one;
      for (const std::string& one : option.whole) words += " -l " + one;
      made["options"] += begin + "'__crosslock_options_of " + command.name + "'" + words +
                         (option.valued ? " -x" : "") + " -d " + quoted(option.about, quote) + "\n";
    }
  }
  made["valued"] = "        case " + valued_words(all, " ") + "\n";
  return made;
}

std::string filled(std::string_view script, const fillings& all) {
  constexpr std::string_view begin = "# <";
  std::string text;
  while (!script.empty()) {
    const std::size_t end = script.find('\n') + 1;
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end);
    const bool mark = line.starts_with(begin) && line.ends_with(">\n");
    text += mark ? all.find(line.substr(begin.size(), line.size() - begin.size() - 2))->second
                 : std::string{line};
  }
  return text;
}

}  // namespace

std::string completion_script(const command_line& program, std::string_view shell) {
  const std::vector<command_description> all = program.describe();
  if (shell == "bash") return filled(completion_scripts::bash, fill_bash(all));
  if (shell == "zsh") return filled(completion_scripts::zsh, fill_zsh(all));
  if (shell == "fish") return filled(completion_scripts::fish, fill_fish(all));
  throw usage_error{"completion: there is no script for '" + std::string{shell} +
                    "': expected bash, zsh or fish"};
}

command offer_completion(command_line& program) {
  command_words words = program.add_command(
      "completion", "Print what makes a shell complete commands, options and names");
  const auto shell = std::make_shared<std::string>();
  words.add_option("SHELL", *shell, "bash, zsh or fish").required();
  return {words, [&program, shell] {
            std::cout << completion_script(program, *shell);
            return exit_code::success;
          }};
}

}  // namespace crosslock::cli
