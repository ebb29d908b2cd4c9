// crosslock-bench [ENGINE...]: runs every workload on every engine that was asked for; `cli` is no
// engine, but measures the program.
#include "benchmarks/awake_cpus.hpp"
#include "benchmarks/cli.hpp"
#include "benchmarks/crosslock_subject.hpp"
#include "benchmarks/processes.hpp"
#include "benchmarks/report.hpp"

#include <CLI/CLI.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace {

using namespace crosslock::bench;

constexpr int usage_error = 64;

struct choice {
  std::vector<std::string> engines;
  std::vector<std::string> only;
  bool json = false;
  bool plain = false;
  bool floors = false;
  int rounds = 5;
  double span = 0.35;
};

std::string names_of(const auto& all) {
  std::string text;
  for (const auto& one : all) text += (text.empty() ? "" : ", ") + std::string{one.name};
  return text;
}

/// All when nothing was asked for. Throws for a name that nobody has.
template <class Named>
std::vector<Named> pick(std::vector<Named> all, const std::vector<std::string>& wanted,
                        const std::string& kind) {
  for (const std::string& name : wanted) {
    if (std::ranges::find(all, name, &Named::name) == all.end()) {
      throw CLI::ValidationError{
          kind, "there is no '" + name + "' in this program; there are " + names_of(all)};
    }
  }
  if (!wanted.empty()) {
    std::erase_if(all, [&](const Named& one) {
      return std::ranges::find(wanted, std::string_view{one.name}) == wanted.end();
    });
  }
  return all;
}

/// Everybody that takes part on one engine, made when they are needed.
class field {
 public:
  field(engine& engine, bool without_us) : engine_{engine}, without_us_{without_us} {}

  contest enter(const workload& workload) {
    auto& usual = usual_[workload.variant];
    if (usual.empty()) {
      usual.push_back(engine_.floor(workload.variant));
      if (!without_us_) {
        usual.push_back(make_crosslock_subject(engine_.url(workload.variant)));
      }
    }
    contest made{workload, {}};
    for (const auto& subject : usual) made.subjects.push_back(subject.get());
    for (auto& rival : engine_.rivals(workload.name, workload.variant)) {
      made.subjects.push_back(rivals_.emplace_back(std::move(rival)).get());
    }
    if (workload.rival) made.subjects.push_back(rivals_.emplace_back(workload.rival()).get());
    return made;
  }

 private:
  engine& engine_;
  const bool without_us_;
  std::map<std::string_view, std::vector<std::unique_ptr<subject>>> usual_;  ///< by variant
  std::vector<std::unique_ptr<subject>> rivals_;
};

void run_engine(const offer& offer, std::vector<workload> workloads, const choice& choice,
                report& report) {
  const auto engine = offer.make();
  field field{*engine, choice.floors};
  const seconds span = std::max(seconds{choice.span}, engine->least_span());
  surroundings around{*engine, offer.name, span};
  std::erase_if(workloads, [&, variants = engine->variants()](const workload& one) {
    const bool known =
        one.variant.empty() || std::ranges::find(variants, one.variant) != variants.end();
    return !known || !engine->plays(one.name);
  });
  report.begin(offer.name);
  for (auto next = workloads.begin(); next != workloads.end();) {
    std::vector<contest> family;
    const auto family_name = next->family;
    do {
      family.push_back(field.enter(*next++));
    } while (!family_name.empty() && next != workloads.end() && next->family == family_name);
    auto results = run_rounds(family, choice.rounds, around);
    for (std::size_t i = 0; i < family.size(); ++i) {
      for (summary& row : results[i]) row.engine = offer.name;
      report.add(results[i], family[i].workload, engine->note(family[i].workload.name));
    }
  }
}

void add_options(CLI::App& app, choice& choice) {
  app.add_option(
      "ENGINE", choice.engines,
      "Which engines; without it every one that is linked. cli: the start of the program");
  app.add_flag("--json", choice.json, "One JSON object per line");
  app.add_flag("--plain", choice.plain, "Let idle CPUs halt, as they do in daily life");
  app.add_flag("--floors", choice.floors, "Leave crosslock out: only floors, rivals and peers");
  app.add_option("--rounds", choice.rounds, "How often each subject takes its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", choice.span, "How long one turn of one subject is measured")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--only", choice.only, "Only this workload; may be given several times");
}

/// Hundreds of clients, each with files or connections of its own, live in one process here.
void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// What a process is for that was started by another one of this program.
role role_called(std::string_view word) {
  if (word == take_part) return take_part_in_setting;
  if (word == reenter) return reenter_without_system_calls;
  if (word == hold_on) return hold_on_until_killed;
  return nullptr;
}

int run(int argc, char** argv) {
  CLI::App app{"Compares crosslock with the floor of each engine.", "bench"};
  choice choice;
  add_options(app, choice);
  std::vector<offer> engines;
  std::vector<workload> chosen;
  bool cli = false;
  try {
    app.parse(argc, argv);
    cli = std::erase(choice.engines, "cli") > 0;
    if (!cli || !choice.engines.empty()) engines = pick(offers(), choice.engines, "ENGINE");
    chosen = pick(workloads(), choice.only, "--only");
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : usage_error;
  }

  allow_many_descriptors();
  std::optional<awake_cpus> awake;
  if (!choice.plain) awake.emplace();
  const auto report = choice.json ? make_json_lines(std::cout, std::cerr) : make_table(std::cout);
  report->remark(awake && awake->works()
                     ? "idle CPUs are kept from halting (/dev/cpu_dma_latency = 0)"
                     : "idle CPUs may halt: waking them is a part of what is measured");
  for (const offer& engine : engines) run_engine(engine, chosen, choice, *report);
  if (cli) run_cli({choice.json, choice.rounds, seconds{choice.span}}, std::cout);
  return std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const role role = argc > 1 ? role_called(argv[1]) : nullptr) {
      // Whatever ends the benchmark, nobody goes on locking behind its back.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      return role({argv + 2, static_cast<std::size_t>(argc - 2)});
    }
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "bench: " << failure.what() << '\n';
    return 1;
  }
}
