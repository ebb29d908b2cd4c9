// A subject is a command that is started and waited for, again and again, or a call within this
// process. They take turns, so that what disturbs the machine disturbs all of them alike.
#include "benchmarks/cli.hpp"

#include "benchmarks/histogram.hpp"

#include <crosslock/crosslock.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace crosslock::bench {
namespace {

using steady = std::chrono::steady_clock;

/// What starting up may cost beyond the command and the lock.
constexpr double beyond_ms_max = 20;

class folder {
 public:
  folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "crosslock-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::system_error{errno, std::generic_category(), pattern};
    path_ = pattern;
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Starts it with nothing on its standard streams but errors, and waits for its end.
void run_to_its_end(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &streams, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  int status = 0;
  if (failed != 0 || waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error{"'" + words[0] + "' cannot be run, or failed"};
  }
}

struct subject {
  std::string name;
  std::function<void()> once;
  histogram took = {};

  double ms(double part) const { return took.percentile_us(part) / 1000; }
};

void take_turn(subject& one, std::chrono::duration<double> span) {
  const auto end = steady::now() + span;
  do {
    const auto begin = steady::now();
    one.once();
    one.took.add(steady::now() - begin);
  } while (steady::now() < end);
}

std::vector<subject> make_subjects(const folder& place, mutex& lock, const std::string& url) {
  const std::string program = CROSSLOCK_PROGRAM;
  const auto running = [](std::vector<std::string> words) {
    return [words = std::move(words)] { run_to_its_end(words); };
  };
  return {
      {"true", running({"true"})},
      {"flock", running({"flock", place.file("lock"), "true"})},
      {"crosslock-version", running({program, "--version"})},
      {"crosslock-run", running({program, "run", "--url", url, "start", "--", "true"})},
      {"lock-in-process", [&lock] { const hold held = lock.acquire(); }},
      {"connect-in-process",
       [url] {
         const client locks = connect(url);
         { const hold held = mutex{locks, "start"}.acquire(); }
         locks.close();
       }},
  };
}

void print_table(const std::vector<subject>& all, double flock_ms, std::ostream& out) {
  char line[128];
  std::snprintf(line, sizeof line, "\n%-22s%10s%10s%16s\n", "cli", "p50 ms", "p99 ms",
                "times flock");
  out << line;
  for (const subject& one : all) {
    std::snprintf(line, sizeof line, "%-22s%10.3f%10.3f%16.2f\n", one.name.c_str(), one.ms(0.5),
                  one.ms(0.99), one.ms(0.5) / flock_ms);
    out << line;
  }
}

void print_lines(const std::vector<subject>& all, double flock_ms, std::ostream& out) {
  for (const subject& one : all) {
    const nlohmann::ordered_json line{
        {"engine", "cli"},        {"workload", "start"},
        {"subject", one.name},    {"p50_ms", one.ms(0.5)},
        {"p99_ms", one.ms(0.99)}, {"ratio_to_flock", one.ms(0.5) / flock_ms}};
    out << line.dump() << '\n';
  }
}

void print_verdict(double beyond, bool json, std::ostream& out) {
  const bool kept = beyond <= beyond_ms_max;
  if (json) {
    const nlohmann::ordered_json line{{"engine", "cli"},
                                      {"workload", "start"},
                                      {"beyond_the_lock_ms", beyond},
                                      {"at_most_ms", beyond_ms_max},
                                      {"kept", kept}};
    out << line.dump() << std::endl;
    return;
  }
  char line[160];
  std::snprintf(line, sizeof line,
                "    beyond the command and the lock itself: %.2f ms, of at most %.0f ms: %s\n",
                beyond, beyond_ms_max, kept ? "kept" : "NOT KEPT");
  out << line << "    (crosslock-run less true less lock-in-process)" << std::endl;
}

}  // namespace

void run_cli(const cli_choice& choice, std::ostream& out) {
  const folder place;
  const std::string url = "sqlite://" + place.file("locks.db");
  const client locks = connect("sqlite://" + place.file("in-process.db"));
  mutex lock{locks, "start"};
  std::vector<subject> all = make_subjects(place, lock, url);
  for (subject& one : all) one.once();  // makes the database, and reads programs from the disk
  for (int round = 0; round < choice.rounds; ++round) {
    for (subject& one : all) take_turn(one, choice.span);
  }
  const auto named = [&](std::string_view name) -> const subject& {
    for (const subject& one : all) {
      if (one.name == name) return one;
    }
    throw std::logic_error{"no such subject"};
  };
  const double flock_ms = named("flock").ms(0.5);
  choice.json ? print_lines(all, flock_ms, out) : print_table(all, flock_ms, out);
  print_verdict(
      named("crosslock-run").ms(0.5) - named("true").ms(0.5) - named("lock-in-process").ms(0.5),
      choice.json, out);
}

}  // namespace crosslock::bench
