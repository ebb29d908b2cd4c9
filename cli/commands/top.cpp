#include "cli/commands/top.hpp"

#include "cli/exit_code.hpp"
#include "cli/looking/lock_text.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/poller.hpp"
#include "cli/looking/repeat.hpp"
#include "cli/looking/screen.hpp"
#include "cli/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

struct top_request {
  target_flags where;
  std::string beginning;
  bool all = false;
  bool batch = false;
  std::optional<std::string> interval;
  std::optional<std::uint64_t> rounds;
};

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &parts);
  return text.data();
}

std::vector<std::string> page(const poller::news& seen, const std::string& where,
                              const canvas& on) {
  std::vector<std::string> lines{fitted("crosslock top " + local_time() + "  " + where, on)};
  if (!seen.trouble.empty()) {
    lines.push_back(fitted("trying again: " + seen.trouble, on, colour::red));
  }
  for (std::string& each : top_lines(seen.locks, on)) lines.push_back(std::move(each));
  return lines;
}

void print_pages(const top_request& wanted, lock_viewer& looking, duration interval,
                 std::ostream& out) {
  poller::news seen{looking.list(wanted.beginning), {}};
  for (std::uint64_t round = 1; out; ++round) {
    if (round > 1) out << '\n';
    for (const std::string& each : page(seen, looking.where(), {})) out << each << '\n';
    out << std::flush;
    if (round == wanted.rounds) return;
    sleep_between_looks(interval);
    try {
      seen = {looking.list(wanted.beginning), {}};
    } catch (const error& why) {
      if (!why.retryable()) throw;
      seen.trouble = why.what();
    }
  }
}

/// The live table, until somebody or something ends it.
class live_top {
 public:
  live_top(std::string where, poller& looks, std::optional<std::uint64_t> rounds)
      : where_{std::move(where)}, looks_{looks}, left_{rounds} {}

  /// The signal that ended it; 0 when the user did, or the rounds were over.
  int run() {
    draw();
    while (!quits_ && ended_by_ == 0) {
      std::array<pollfd, 3> all{{{signals_.descriptor(), POLLIN, 0},
                                 {looks_.descriptor(), POLLIN, 0},
                                 {screen_.keyboard(), POLLIN, 0}}};
      if (poll(all.data(), all.size(), -1) < 0) continue;
      if (all[0].revents != 0) heed_signals();
      if (all[1].revents != 0) draw();
      if (all[2].revents != 0) heed_keyboard();
    }
    screen_.leave();
    return ended_by_;
  }

 private:
  void draw() {
    seen_ = looks_.take();
    redraw();
    if (left_ && --*left_ == 0) quits_ = true;
  }

  void redraw() {
    const canvas on{screen::size().columns, likes_colours(STDOUT_FILENO)};
    if (!screen_.draw(page(seen_, where_, on))) quits_ = true;
  }

  void heed_signals() {
    while (const auto signal = signals_.next()) {
      if (*signal == SIGWINCH) {
        redraw();
      } else if (*signal == SIGTSTP) {
        screen_.leave();
        raise(SIGSTOP);  // CONT comes when somebody wants to see us again
      } else if (*signal == SIGCONT) {
        screen_.leave();  // whoever had the terminal meanwhile may have left it otherwise
        screen_.enter();
        redraw();
      } else {
        ended_by_ = *signal;
      }
    }
  }

  void heed_keyboard() {
    const auto pressed = screen_.key();
    if (pressed == 'q' || pressed == 'Q') quits_ = true;
  }

  const std::string where_;
  poller& looks_;
  std::optional<std::uint64_t> left_;
  screen_signals signals_;
  screen screen_;
  poller::news seen_;
  bool quits_ = false;
  int ended_by_ = 0;
};

int show_live(const top_request& wanted, lock_viewer& looking, duration interval) {
  const auto look = [&] { return looking.list(wanted.beginning); };
  poller looks{look, look(), interval};
  const int ended_by = live_top{looking.where(), looks, wanted.rounds}.run();
  if (ended_by != 0) die_of(ended_by);
  // A server that does not answer just now is not waited for: nothing of ours is there.
  if (!looks.stop_within(200ms)) std::_Exit(exit_code::success);
  return exit_code::success;
}

int top(const top_request& wanted, std::ostream& out) {
  const duration interval = read_interval(wanted.interval, 2s);
  lock_viewer looking{wanted.where, wanted.all};
  if (!wanted.batch && isatty(STDOUT_FILENO) == 1) return show_live(wanted, looking, interval);
  print_pages(wanted, looking, interval, out);
  return exit_code::success;
}

}  // namespace

command offer_top(command_line& program) {
  command_words words =
      program.add_command("top", "Show a live table of locks, the most waited for first");
  const auto wanted = std::make_shared<top_request>();
  words.add_option("PREFIX", wanted->beginning, "Only names that begin so");
  words.add_flag("-b,--batch", wanted->batch, "Plain text, one table after another");
  words.add_option("-d,--interval", wanted->interval, "How often to look (2s)");
  words.add_option("-n,--rounds", wanted->rounds, "End after so many tables").at_least_one();
  words.add_flag("--all", wanted->all, "Also what elections and barriers lock for themselves");
  offer_target(words, wanted->where);
  return {words, [wanted] { return top(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
