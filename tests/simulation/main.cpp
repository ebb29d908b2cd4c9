// crosslock-simulation [--seeds N] [--first SEED] [--jobs J]: plays N seeds and counts.
// crosslock-simulation --seed SEED: plays one and tells everything that happened in it.
// crosslock-simulation-mutants: the same over a library with deliberate faults (mutants.cpp).
#include "simulation/jobs.hpp"
#include "simulation/mutants.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>

namespace crosslock::simulation {

namespace {

constexpr std::uint64_t enough_to_miss_nothing = 1000;
constexpr std::uint64_t played_twice = 50;

int replay(std::uint64_t seed) {
  const scenario testbed = draw_scenario(seed);
  std::cout << "seed " << seed << ": " << testbed.to_string() << '\n';
  const outcome result = play(testbed, true);
  std::cout << result.story << result.failure << "digest " << result.digest << '\n';
  const bool good = result.failure.empty();
  std::cout << (good ? 1 : 0) << " passed, " << (good ? 0 : 1) << " failed\n" << std::flush;
  return good ? 0 : 1;
}

void show(const failed_seed& failed) {
  std::cout << "seed " << failed.seed << " FAILED: " << draw_scenario(failed.seed).to_string()
            << '\n'
            << failed.text << "  replay: crosslock-simulation --seed " << failed.seed << "\n";
}

int play_many(std::uint64_t first, std::uint64_t seeds, int jobs) {
  const auto play_seed = [](std::uint64_t seed) { return play(draw_scenario(seed)); };
  const batch_result all = play_all({first, seeds, jobs, play_seed});
  std::uint64_t shown = 0;
  for (const failed_seed& each : all.failed) {
    if (!each.text.empty() && shown++ < 10) show(each);
  }
  std::uint64_t passed = seeds - all.failed.size();
  std::uint64_t failed = all.failed.size();
  std::cout << "in " << seeds << " seeds from " << first << ":\n" << all.seen.table();

  if (seeds >= enough_to_miss_nothing) {
    const std::string missing = all.seen.missing();
    if (!missing.empty()) std::cout << "FAILED: never happened: " << missing << '\n';
    ++(missing.empty() ? passed : failed);
  }
  if (seeds >= played_twice && all.failed.empty()) {
    // The second time with another number of jobs, so that each world has other neighbours.
    const batch_result once = play_all({first, played_twice, jobs, play_seed});
    const batch_result again = play_all({first, played_twice, jobs + 1, play_seed});
    const bool same = once.digest == again.digest;
    if (!same) std::cout << "FAILED: the same seeds played twice went different ways\n";
    ++(same ? passed : failed);
  }
  std::cout << passed << " passed, " << failed << " failed\n" << std::flush;
  return failed == 0 ? 0 : 1;
}

std::optional<std::uint64_t> number(const char* text) {
  std::uint64_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, problem] = std::from_chars(text, end, value);
  return problem == std::errc{} && at == end ? std::optional{value} : std::nullopt;
}

int usage() {
  std::cerr << "usage: crosslock-simulation [--seeds N] [--first SEED] [--seed SEED] [--jobs J]\n";
  return 2;
}

}  // namespace

int run(int argc, char** argv) {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  std::uint64_t jobs = std::max(1U, std::thread::hardware_concurrency());
  std::optional<std::uint64_t> one;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    const auto value = i + 1 < argc ? number(argv[i + 1]) : std::nullopt;
    if (!value) return usage();
    if (option == "--seeds") {
      seeds = *value;
    } else if (option == "--first") {
      first = *value;
    } else if (option == "--seed") {
      one = *value;
    } else if (option == "--jobs") {
      jobs = std::max<std::uint64_t>(1, *value);
    } else {
      return usage();
    }
  }
  if (mutants_are_built_in()) return hunt_mutants(static_cast<int>(jobs), first, one);
  if (one) return replay(*one);
  return play_many(first, seeds, static_cast<int>(jobs));
}

}  // namespace crosslock::simulation

int main(int argc, char** argv) { return crosslock::simulation::run(argc, argv); }
