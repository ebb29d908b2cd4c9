#include "cli/looking/repeat.hpp"

#include "cli/command.hpp"
#include "cli/looking/changes.hpp"
#include "cli/looking/lock_json.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/times.hpp"

#include <crosslock/error.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

constexpr duration interval_min = 10ms;

/// From the top of the terminal, and no longer than it: else it would scroll.
void draw(std::vector<std::string> lines, std::ostream& out) {
  winsize size{};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  const std::size_t room = size.ws_row > 2 ? size.ws_row - 1U : 24U;
  if (lines.size() > room) {
    const std::size_t hidden = lines.size() - room + 1;
    lines.resize(room - 1);
    lines.push_back("... and " + std::to_string(hidden) + " lines more");
  }
  std::string text = "\x1b[H";
  // Erased before the text: behind a full line the cursor still stands on its last letter.
  for (const std::string& each : lines) text += "\x1b[K" + each + '\n';
  out << text << "\x1b[J" << std::flush;
}

/// Says each state of affairs once.
class display {
 public:
  display(const repeated& what, std::ostream& out)
      : what_{what}, out_{out}, redraws_{!what.json && isatty(STDOUT_FILENO) == 1} {}

  void show(seen_locks locks) {
    if (redraws_) {
      draw(what_.lines(locks, canvas_of_output()), out_);
    } else if (first_ || !changes_between(last_, locks).empty()) {
      print(locks);
    }
    first_ = false;
    last_ = std::move(locks);
    if (!trouble_.empty() && !redraws_) complain("connected again");
    trouble_.clear();
  }

  void show_trouble(const std::string& text) {
    if (text == trouble_) return;
    trouble_ = text;
    if (redraws_) {
      out_ << fitted(text + "; trying again", canvas_of_output(), colour::red) << std::endl;
    } else {
      complain(text + "; trying again");
    }
  }

 private:
  void print(const seen_locks& locks) {
    if (what_.json) {
      print_object(out_, what_.object(locks));
      return;
    }
    if (!first_) out_ << '\n';
    for (const std::string& each : what_.lines(locks, canvas_of_output())) out_ << each << '\n';
    out_ << std::flush;
  }

  const repeated& what_;
  std::ostream& out_;
  const bool redraws_;
  bool first_ = true;
  seen_locks last_;
  std::string trouble_;
};

}  // namespace

duration read_interval(const std::optional<std::string>& given, duration otherwise) {
  if (!given) return otherwise;
  const duration interval = read_time("--interval", *given);
  if (interval < interval_min) {
    throw usage_error{"--interval is '" + *given + "': looking more often than every 10ms would " +
                      "keep the server from its work"};
  }
  return interval;
}

void repeat(const repeated& what, std::ostream& out) {
  display shown{what, out};
  seen_locks first = what.look();
  if (!what.json && isatty(STDOUT_FILENO) == 1) out << "\x1b[2J";
  shown.show(std::move(first));
  while (out) {
    sleep_between_looks(what.interval);
    try {
      shown.show(what.look());
    } catch (const error& why) {
      if (!why.retryable()) throw;
      shown.show_trouble(why.what());
    }
  }
}

}  // namespace crosslock::cli
