// Starting the programs of a peer, and reading what they tell.
#include "benchmarks/peer_subject.hpp"

#include "benchmarks/cpu_time.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace crosslock::bench {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Interpreters compile while they run: so long before it counts.
constexpr auto warming = 300ms;
/// Peers that poll hand over a few times in a second: less would show nothing.
constexpr seconds least_span = 1s;

/// One lock and unlock of one client.
struct turn {
  std::size_t client = 0;
  std::int64_t asked = 0;
  std::int64_t in = 0;
  std::int64_t left = 0;
  std::int64_t out = 0;
};

/// A program and both ends of a conversation with it; killed if it is still there at the end.
class peer_process {
 public:
  explicit peer_process(std::vector<std::string> words) {
    int to_it[2];
    int from_it[2];
    if (pipe2(to_it, O_CLOEXEC) != 0 || pipe2(from_it, O_CLOEXEC) != 0) fail("a pipe");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_it[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_it[1], STDOUT_FILENO);
    const int code = posix_spawnp(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to_it[0]);
    close(from_it[1]);
    to_ = to_it[1];
    from_ = from_it[0];
    if (code != 0) {
      errno = code;
      fail(arguments[0]);
    }
  }
  ~peer_process() {
    close(to_);
    close(from_);
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  void tell(const std::string& line) const {
    if (write(to_, line.data(), line.size()) < 0) fail("a peer");
  }

  pid_t id() const noexcept { return id_; }

  /// Until it has said that much, or everything.
  std::string hear(std::size_t most) const {
    std::string said;
    char piece[65536];
    while (said.size() < most) {
      const auto size = read(from_, piece, std::min(sizeof piece, most - said.size()));
      if (size <= 0) break;
      said.append(piece, static_cast<std::size_t>(size));
    }
    return said;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw std::system_error{errno, std::generic_category(), what};
  }

  pid_t id_ = 0;
  int to_ = -1;
  int from_ = -1;
};

std::int64_t nanoseconds_of(steady::time_point moment) {
  return std::chrono::nanoseconds{moment.time_since_epoch()}.count();
}

/// Whose turns begin and end in the span; clients of the process with that number.
void read_turns(const std::string& said, std::size_t process, std::vector<turn>& turns) {
  constexpr std::size_t most_clients = 1000;
  std::istringstream lines{said};
  turn one;
  while (lines >> one.client >> one.asked >> one.in >> one.left >> one.out) {
    one.client += process * most_clients;
    turns.push_back(one);
  }
}

/// All on one name: only a change of the owner counts, as with our own parties.
std::vector<turn> handovers_of(std::vector<turn> turns) {
  std::ranges::sort(turns, {}, &turn::in);
  std::vector<turn> handovers;
  for (std::size_t i = 1; i < turns.size(); ++i) {
    if (turns[i].in < turns[i - 1].left) throw std::runtime_error{"two peers were inside at once"};
    if (turns[i].client != turns[i - 1].client) handovers.push_back(turns[i]);
  }
  return handovers;
}

class peer_subject final : public subject {
 public:
  peer_subject(std::string name, std::vector<std::string> command)
      : name_{std::move(name)}, command_{std::move(command)} {}

  std::string_view name() const override { return name_; }

  std::optional<measured> play(const setting& setting, seconds asked_span,
                               const request_count& requests) override {
    const bool many = setting.who == setting::kind::processes;
    const bool alone = setting.who == setting::kind::own_names;
    const std::size_t count = many ? setting.count : 1;
    const seconds span = std::max(asked_span, least_span);
    std::vector<std::unique_ptr<peer_process>> programs;
    for (std::size_t i = 0; i < count; ++i) {
      auto words = command_;
      words.insert(words.end(),
                   {setting.name, std::to_string(setting.count / count), alone ? "own" : "one"});
      programs.push_back(std::make_unique<peer_process>(std::move(words)));
    }
    constexpr std::string_view ready = "ready\n";
    for (const auto& program : programs) {
      if (program->hear(ready.size()) != ready) throw std::runtime_error{name_ + " does not run"};
    }
    const auto begin = nanoseconds_of(steady::now() + warming);
    const auto end = begin + static_cast<std::int64_t>(span.count() * 1e9);
    for (const auto& program : programs) program->tell(std::to_string(end) + "\n");
    const spending spent = watch(programs, begin, end, requests);
    std::vector<turn> turns;
    for (std::size_t i = 0; i < count; ++i) {
      read_turns(programs[i]->hear(static_cast<std::size_t>(-1)), i, turns);
    }
    const auto outside = [&](const turn& one) { return one.in < begin || one.in >= end; };
    std::erase_if(turns, outside);
    return result_of(turns, setting, span, spent);
  }

  parties assemble(const setting&) override { throw unable(); }
  std::unique_ptr<reentrant> enter(const std::string&) override { throw unable(); }
  std::unique_ptr<held_locks> hold_many(const std::string&, std::size_t,
                                        std::chrono::milliseconds) override {
    throw unable();
  }

 private:
  std::runtime_error unable() const {
    return std::runtime_error{name_ + " takes part in settings only"};
  }

  struct spending {
    double requests = 0;
    seconds cpu{};
  };

  /// What they use between two moments.
  static spending watch(const std::vector<std::unique_ptr<peer_process>>& programs,
                        std::int64_t begin, std::int64_t end, const request_count& requests) {
    const auto read = [&](std::int64_t moment) {
      std::this_thread::sleep_until(steady::time_point{std::chrono::nanoseconds{moment}});
      spending now{static_cast<double>(requests()), {}};
      for (const auto& program : programs) now.cpu += cpu_time_of(program->id());
      return now;
    };
    const spending before = read(begin);
    const spending after = read(end);
    return {after.requests - before.requests, after.cpu - before.cpu};
  }

  static measured result_of(const std::vector<turn>& turns, const setting& setting, seconds span,
                            const spending& spent) {
    const bool alone = setting.who == setting::kind::own_names;
    const std::vector<turn> counted = alone ? turns : handovers_of(turns);
    measured result;
    result.rate = static_cast<double>(counted.size()) / span.count();
    for (const turn& one : turns) {
      result.latency.add(std::chrono::nanoseconds{one.out - one.asked});
    }
    const auto count = static_cast<double>(counted.size());
    if (count > 0) {
      result.requests_per_op = spent.requests / count;
      result.cpu_us_per_op = spent.cpu.count() * 1e6 / count;
    }
    if (alone) return result;
    std::map<std::size_t, double> shares;
    for (const turn& one : counted) ++shares[one.client];
    std::vector<double> each(setting.count);
    std::ranges::copy(shares | std::views::values, each.begin());
    const auto [least, most] = std::ranges::minmax(each);
    result.share_max_min = most / least;  // infinite when one got nothing
    return result;
  }

  const std::string name_;
  const std::vector<std::string> command_;
};

}  // namespace

std::unique_ptr<subject> make_peer_subject(std::string name, std::vector<std::string> command) {
  return std::make_unique<peer_subject>(std::move(name), std::move(command));
}

}  // namespace crosslock::bench
