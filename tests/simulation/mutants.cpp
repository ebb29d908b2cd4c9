// A mutant that survives means that the simulation or the checker would not notice that mistake.
#include "simulation/mutants.hpp"

#include "engine/mutant.hpp"
#include "simulation/jobs.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <string>

namespace crosslock::simulation {

namespace {

using checker::invariant;
using seam::mutant;

constexpr std::uint64_t hunted_seeds = 3000;
constexpr std::uint64_t healthy_seeds = 200;

struct prey {
  mutant which;
  const char* name;
  const char* mistake;
  invariant caught_by;
};

constexpr std::array preys{
    prey{mutant::deadline_from_response, "M1", "deadline counted from the answer",
         invariant::exclusion},
    prey{mutant::release_without_owner, "M2", "release does not compare the owner",
         invariant::owner},
    prey{mutant::renew_creates, "M3", "renewal creates what is gone", invariant::loss},
    prey{mutant::fence_stands_still, "M4", "fence does not grow", invariant::fencing},
    prey{mutant::no_look_behind_wake_up, "M5", "nobody looks behind the wake-up",
         invariant::wake_up},
    prey{mutant::retry_with_new_owner, "M8", "retry under a new owner id", invariant::orphan},
    prey{mutant::loss_told_by_io_thread, "M9", "loss told by the thread that does I/O",
         invariant::loss},
    prey{mutant::told_before_done, "M11", "a grant is told and never made", invariant::phantom},
    prey{mutant::word_noted_late, "M12", "word noted after the look", invariant::wake_up},
    prey{mutant::one_permit_too_many, "M14", "one more than all permits", invariant::exclusion},
    prey{mutant::upgrade_beside_any, "M15", "an upgrade beside other readers",
         invariant::exclusion},
};

void put_in_force([[maybe_unused]] mutant which) {
#ifdef CROSSLOCK_MUTANTS
  seam::mutant_in_force = which;
#endif
}

batch hunt(const prey& hunted, std::uint64_t first, int jobs, bool sick) {
  batch what;
  what.first = first;
  what.seeds = sick ? hunted_seeds : healthy_seeds;
  what.jobs = jobs;
  what.play = [hunted, sick](std::uint64_t seed) {
    put_in_force(sick ? hunted.which : mutant::none);
    return play(draw_scenario_for(hunted.which, seed));
  };
  what.failures_shown = sick ? 0 : 2;
  if (sick) {
    what.enough = [hunted](const outcome& result) {
      return result.broken.contains(hunted.caught_by);
    };
  }
  return what;
}

bool catch_one(const prey& hunted, std::uint64_t first, int jobs) {
  const batch_result sick = play_all(hunt(hunted, first, jobs, true));
  const std::string by{to_string(hunted.caught_by)};
  if (sick.found.empty()) {
    std::printf("%-3s %-40s SURVIVED %llu seeds; %s should have broken\n", hunted.name,
                hunted.mistake, static_cast<unsigned long long>(sick.played), by.c_str());
    return false;
  }
  const auto seed = sick.found.front();
  std::printf("%-3s %-40s caught by %-12s seed %-5llu after %llu seeds\n", hunted.name,
              hunted.mistake, by.c_str(), static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seed - first + 1));
  return true;
}

bool healthy(const prey& hunted, std::uint64_t first, int jobs) {
  const batch_result well = play_all(hunt(hunted, first, jobs, false));
  for (const failed_seed& each : well.failed) {
    if (each.text.empty()) continue;
    std::cout << "without " << hunted.name << " seed " << each.seed
              << " FAILED: " << draw_scenario_for(hunted.which, each.seed).to_string() << '\n'
              << each.text;
  }
  return well.failed.empty();
}

int tell_all(std::uint64_t seed) {
  for (const prey& each : preys) {
    for (const bool sick : {true, false}) {
      put_in_force(sick ? each.which : mutant::none);
      const scenario testbed = draw_scenario_for(each.which, seed);
      const outcome result = play(testbed, true);
      std::cout << "=== " << each.name << (sick ? " in force: " : " not in force: ")
                << testbed.to_string() << '\n'
                << result.story << result.failure;
    }
  }
  return 0;
}

}  // namespace

bool mutants_are_built_in() noexcept {
#ifdef CROSSLOCK_MUTANTS
  return true;
#else
  return false;
#endif
}

int hunt_mutants(int jobs, std::uint64_t first, std::optional<std::uint64_t> one) {
  if (one) return tell_all(*one);
  int passed = 0;
  int failed = 0;
  for (const prey& each : preys) ++(catch_one(each, first, jobs) ? passed : failed);
  for (const prey& each : preys) ++(healthy(each, first, jobs) ? passed : failed);
  std::printf("%d passed, %d failed\n", passed, failed);
  std::fflush(stdout);
  return failed == 0 ? 0 : 1;
}

}  // namespace crosslock::simulation
