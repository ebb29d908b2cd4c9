#include "cli/command_line.hpp"

#include "cli/exit_code.hpp"
#include "cli/say.hpp"

#include <crosslock/version.hpp>

#include <CLI/CLI.hpp>
#include <limits>
#include <utility>

namespace crosslock::cli {
namespace {

/// CLI11 knows nothing of words that are not options.
class own_usage : public CLI::Formatter {
 public:
  explicit own_usage(std::string text) : text_{std::move(text)} {}
  std::string make_usage(const CLI::App*, std::string) const override { return text_; }

 private:
  const std::string text_;
};

}  // namespace

option& option::required() {
  made_->required();
  return *this;
}

option& option::excludes(const option& other) {
  made_->excludes(other.made_);
  return *this;
}

option& option::repeated() {
  made_->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

option& option::untyped() {
  made_->type_name("");
  return *this;
}

option& option::one_of(std::vector<std::string> words) {
  made_->check(CLI::IsMember(std::move(words)));
  return *this;
}

option& option::at_least_one() {
  made_->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  return *this;
}

option command_words::add_flag(const char* names, bool& value, const char* about) {
  return option{*made_->add_flag(names, value, about)};
}

option command_words::add_option(const char* names, std::string& value, const char* about) {
  return option{*made_->add_option(names, value, about)};
}

option command_words::add_option(const char* names, std::vector<std::string>& value,
                                 const char* about) {
  return option{*made_->add_option(names, value, about)};
}

option command_words::add_option(const char* names, std::optional<std::string>& value,
                                 const char* about) {
  return option{*made_->add_option(names, value, about)};
}

option command_words::add_option(const char* names, std::optional<std::int32_t>& value,
                                 const char* about) {
  return option{*made_->add_option(names, value, about)};
}

option command_words::add_option(const char* names, std::optional<std::uint64_t>& value,
                                 const char* about) {
  return option{*made_->add_option(names, value, about)};
}

void command_words::footer(const char* text) { made_->footer(text); }

void command_words::usage(const char* text) { made_->formatter(std::make_shared<own_usage>(text)); }

void command_words::stop_at_first_word() { made_->prefix_command(); }

bool command_words::chosen() const { return made_->parsed(); }

std::vector<std::string> command_words::remaining() const { return made_->remaining(); }

command_line::command_line()
    : made_{std::make_unique<CLI::App>("Locks that hold across processes and machines.",
                                       "crosslock")} {
  made_->set_version_flag("--version", std::string{"crosslock "} + crosslock::version());
  made_->require_subcommand(0, 1);
}

command_line::~command_line() = default;

command_words command_line::add_command(const char* name, const char* about) {
  return command_words{*made_->add_subcommand(name, about)};
}

std::vector<command_description> command_line::describe() const {
  std::vector<command_description> all;
  for (const CLI::App* const each :
       std::as_const(*made_).get_subcommands([](const CLI::App*) { return true; })) {
    command_description& made = all.emplace_back();
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

std::optional<int> command_line::read(const std::vector<std::string>& words) {
  try {
    made_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
    // Asked for only now: CLI11 itself would say the same of a command that does not exist.
    if (made_->get_subcommands().empty()) throw CLI::RequiredError{"A command"};
    return std::nullopt;
  } catch (const CLI::ParseError& wrong) {
    // --help and --version arrive here as well, with the code 0.
    if (wrong.get_exit_code() == 0) return made_->exit(wrong);
    const auto asked = made_->get_subcommands();
    const std::string of = asked.empty() ? "" : " " + asked.front()->get_name();
    complain(std::string{wrong.what()} + "; crosslock" + of + " --help says what there is");
    return exit_code::usage;
  }
}

}  // namespace crosslock::cli
