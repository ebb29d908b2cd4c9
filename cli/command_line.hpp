// The words that the program understands. CLI11 reads them; it takes seconds to compile, so that
// only command_line.cpp includes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace crosslock::cli {

/// One option of a command, or one of its words.
class option {
 public:
  explicit option(CLI::Option& made) : made_{&made} {}

  option& required();
  /// Not both on one command line.
  option& excludes(const option& other);
  /// May be given several times, each time with one word.
  option& repeated();
  /// --help says nothing of what kind of text it is.
  option& untyped();
  option& one_of(std::vector<std::string> words);
  option& at_least_one();

 private:
  CLI::Option* made_;
};

/// The part of the command line that one command understands. `names` is such as
/// `-w,--wait,--timeout`, or NAME for a word that is no option. What was given is written to
/// `value`, which must live until the command line has been read.
class command_words {
 public:
  explicit command_words(CLI::App& made) : made_{&made} {}

  option add_flag(const char* names, bool& value, const char* about);
  option add_option(const char* names, std::string& value, const char* about);
  option add_option(const char* names, std::vector<std::string>& value, const char* about);
  option add_option(const char* names, std::optional<std::string>& value, const char* about);
  option add_option(const char* names, std::optional<std::int32_t>& value, const char* about);
  option add_option(const char* names, std::optional<std::uint64_t>& value, const char* about);

  /// What --help says below the options.
  void footer(const char* text);
  /// What --help says above them, in place of what CLI11 would make up.
  void usage(const char* text);
  /// From the first word that is no option on, nothing is looked at: see remaining().
  void stop_at_first_word();

  /// Whether it is the command that was asked for.
  bool chosen() const;
  std::vector<std::string> remaining() const;

 private:
  CLI::App* made_;
};

/// What there is to say of a command and of its options, for the completions of shells.
struct option_description {
  std::vector<std::string> brief;  ///< without the dash
  std::vector<std::string> whole;  ///< without the dashes
  std::string about;
  bool valued = false;
};
struct command_description {
  std::string name;
  std::string about;
  std::vector<option_description> options;
};

/// The whole of it.
class command_line {
 public:
  command_line();
  ~command_line();

  command_words add_command(const char* name, const char* about);
  std::vector<command_description> describe() const;

  /// Reads the words behind the name of the program. Returns an exit code if that was all: help was
  /// asked for and shown, or a word cannot be meant, which has been said.
  std::optional<int> read(const std::vector<std::string>& words);

 private:
  std::unique_ptr<CLI::App> made_;
};

}  // namespace crosslock::cli
