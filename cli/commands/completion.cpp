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

/// One option of a command.
struct option_words {
  std::vector<std::string> brief;  ///< without the dash
  std::vector<std::string> whole;  ///< without the dashes
  std::string about;
  bool valued = false;

  std::vector<std::string> dashed() const {
    std::vector<std::string> all;
    for (const std::string& one : brief) all.push_back("-" + one);
    for (const std::string& one : whole) all.push_back("--" + one);
    return all;
  }
};

struct command_words {
  std::string name;
  std::string about;
  std::vector<option_words> options;
};

std::vector<command_words> words_of(const CLI::App& program) {
  std::vector<command_words> all;
  for (const CLI::App* const each : program.get_subcommands([](const CLI::App*) { return true; })) {
    command_words& made = all.emplace_back();
    made.name = each->get_name();
    made.about = each->get_description();
    for (const CLI::Option* const option : each->get_options()) {
      if (option->get_group().empty() || !option->nonpositional()) continue;
      made.options.push_back({option->get_snames(), option->get_lnames(), option->get_description(),
                              option->get_items_expected_max() > 0});
    }
  }
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
std::string valued_words(const std::vector<command_words>& all, const std::string& between) {
  std::string text;
  for (const command_words& command : all) {
    for (const option_words& option : command.options) {
      if (!option.valued) continue;
      for (const std::string& word : option.dashed()) {
        text += (text.empty() ? "" : between) + quoted(command.name + " " + word, "");
      }
    }
  }
  return text;
}

fillings fill_bash(const std::vector<command_words>& all) {
  fillings made;
  made["commands"] = "     ";
  for (const command_words& command : all) {
    made["commands"] += " " + command.name;
    std::string words;
    for (const option_words& option : command.options) {
      for (const std::string& word : option.dashed()) words += (words.empty() ? "" : " ") + word;
    }
    made["options"] += "    " + command.name + ") echo '" + words + "' ;;\n";
  }
  made["commands"] += "\n";
  made["valued"] = "    " + valued_words(all, " | ") + ") return 0 ;;\n";
  return made;
}

/// `_describe` takes what stands before the first colon for the word.
fillings fill_zsh(const std::vector<command_words>& all) {
  constexpr std::string_view quote = "'\\''";
  fillings made;
  for (const command_words& command : all) {
    made["commands"] += "    " + quoted(command.name + ":" + command.about, quote) + "\n";
    std::string words;
    std::string valued;
    for (const option_words& option : command.options) {
      for (const std::string& word : option.dashed()) {
        words += "        " + quoted(word + ":" + option.about, quote) + "\n";
        if (option.valued) valued += (valued.empty() ? "" : " ") + word;
      }
    }
    made["options"] += "    " + command.name + ")\n      options=(\n" + words +
                       "      )\n      valued=(" + valued + ")\n      ;;\n";
  }
  return made;
}

fillings fill_fish(const std::vector<command_words>& all) {
  constexpr std::string_view quote = "\\'";
  const std::string begin = "complete -c crosslock -n ";
  fillings made;
  for (const command_words& command : all) {
    made["commands"] += begin + "__crosslock_needs_command -a " + command.name + " -d " +
                        quoted(command.about, quote) + "\n";
    for (const option_words& option : command.options) {
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

std::string completion_script(const CLI::App& program, std::string_view shell) {
  const std::vector<command_words> all = words_of(program);
  if (shell == "bash") return filled(completion_scripts::bash, fill_bash(all));
  if (shell == "zsh") return filled(completion_scripts::zsh, fill_zsh(all));
  if (shell == "fish") return filled(completion_scripts::fish, fill_fish(all));
  throw usage_error{"completion: there is no script for '" + std::string{shell} +
                    "': expected bash, zsh or fish"};
}

command offer_completion(CLI::App& program) {
  CLI::App* const words = program.add_subcommand(
      "completion", "Print what makes a shell complete commands, options and names");
  const auto shell = std::make_shared<std::string>();
  words->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  return {words, [&program, shell] {
            std::cout << completion_script(program, *shell);
            return exit_code::success;
          }};
}

}  // namespace crosslock::cli
