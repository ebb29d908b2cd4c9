// Words and numbers out of a cell's text, strictly.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/lock_name.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock::inner {

/// Words with one space between them. One thread at a time.
class cell_text {
 public:
  /// Throws `conflict` unless the text begins with the word that says what it is.
  cell_text(const lock_name& name, std::string_view text, std::string_view kind)
      : name_{name}, rest_{text} {
    if (next() == kind) return;
    throw error{errc::conflict, "something else than a " + std::string{kind} +
                                    " is stored under '" + name.str() + "': use another name"};
  }

  bool at_end() const noexcept { return !rest_; }

  /// Empty at the end, which no word is.
  std::string_view next() noexcept {
    if (!rest_) return {};
    const std::size_t end = rest_->find(' ');
    const std::string_view word = rest_->substr(0, end);
    rest_ = end == rest_->npos ? std::nullopt : std::optional{rest_->substr(end + 1)};
    return word;
  }

  /// All that follows, whatever it is.
  std::string_view rest() const noexcept { return rest_.value_or(std::string_view{}); }

  template <class Number>
  Number next_number(Number least, Number most) {
    return number(next(), least, most);
  }

  template <class Number>
  Number number(std::string_view word, Number least, Number most) const {
    Number value{};
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = failed == std::errc{} && end == word.data() + word.size();
    if (!whole || value < least || value > most) refuse();
    return value;
  }

  [[noreturn]] void refuse() const {
    throw error{errc::protocol, "what is stored under '" + name_.str() + "' makes no sense"};
  }

 private:
  const lock_name& name_;
  std::optional<std::string_view> rest_;
};

}  // namespace crosslock::inner
