// Engines show lists and push none, so lists are compared. Signals end the program as they end
// tail -f: nothing is held, so nothing has to be undone, and every line is written out whole.
#include "cli/commands/watch.hpp"

#include "cli/exit_code.hpp"
#include "cli/looking/changes.hpp"
#include "cli/looking/kind.hpp"
#include "cli/looking/lock_json.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/repeat.hpp"
#include "cli/say.hpp"
#include "cli/times.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;

struct watch_request {
  target_flags where;
  std::string beginning;
  bool all = false;
  std::optional<std::string> interval;
  std::optional<std::uint64_t> count;
  std::optional<std::string> span;
};

/// `2026-11-16T09:54:28.123Z`, by the clock of this machine.
std::string universal_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::time_t seconds = now / 1s;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string thousandths = std::to_string(1000 + now % 1s / 1ms).substr(1);
  return std::string{text.data()} + '.' + thousandths + 'Z';
}

ordered_json event_json(const lock_event& event) {
  const kind_and_name parts = kind_of(event.name);
  const claim_info& claim = event.claim;
  ordered_json object{{"time", universal_time()},
                      {"event", to_string(event.what)},
                      {"name", parts.name},
                      {"kind", parts.kind}};
  add_claim(object, claim);
  object["fence"] = fence_json(claim);
  object["age_ms"] = claim.foreign ? ordered_json{} : ordered_json(claim.age / 1ms);
  add_identity(object, claim);
  return object;
}

/// Prints what has happened since the last time, and counts it.
class reporter {
 public:
  reporter(std::ostream& out, std::optional<std::uint64_t> count) : out_{out}, left_{count} {}

  bool done() const { return left_ == 0U || !out_; }

  void see(seen_locks now) {
    if (!trouble_.empty()) {
      print_object(out_, {{"time", universal_time()}, {"event", "reachable"}});
      trouble_.clear();
    }
    for (const lock_event& each : first_ ? initial_events(now) : changes_between(last_, now)) {
      if (done()) return;
      print_object(out_, event_json(each));
      if (left_) --*left_;
    }
    first_ = false;
    last_ = std::move(now);
  }

  void see_trouble(const std::string& text) {
    if (trouble_.empty()) {
      print_object(out_, {{"time", universal_time()}, {"event", "unreachable"}, {"error", text}});
    }
    trouble_ = text;
  }

 private:
  std::ostream& out_;
  std::optional<std::uint64_t> left_;
  bool first_ = true;
  seen_locks last_;
  std::string trouble_;
};

int watch(const watch_request& wanted, std::ostream& out) {
  const duration interval = read_interval(wanted.interval, 200ms);
  const duration span = wanted.span ? read_time("--for", *wanted.span) : duration::max();
  const time_point begin = boot_clock::now();
  lock_viewer looking{wanted.where, wanted.all};
  reporter news{out, wanted.count};
  seen_locks first = looking.list(wanted.beginning);
  complain("comparing lists every " + show_time(interval) +
           ": what is shorter than that may be missed");
  news.see(std::move(first));
  while (!news.done()) {
    const duration left = span - (boot_clock::now() - begin);
    if (left <= duration::zero()) break;
    sleep_between_looks(std::min(interval, left));
    try {
      news.see(looking.list(wanted.beginning));
    } catch (const error& why) {
      if (!why.retryable()) throw;
      news.see_trouble(why.what());
    }
  }
  return exit_code::success;
}

}  // namespace

command offer_watch(command_line& program) {
  command_words words = program.add_command(
      "watch", "Print a JSON line whenever a lock is taken, given back or waited for");
  const auto wanted = std::make_shared<watch_request>();
  words.add_option("PREFIX", wanted->beginning, "Only names that begin so");
  words.add_option("-d,--interval", wanted->interval, "How often to look (200ms)");
  words.add_option("--count", wanted->count, "End after so many events").at_least_one();
  words.add_option("--for", wanted->span, "End after so long");
  words.add_flag("--all", wanted->all, "Also what elections and barriers lock for themselves");
  offer_target(words, wanted->where);
  return {words, [wanted] { return watch(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
