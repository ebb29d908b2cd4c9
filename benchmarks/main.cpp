// crosslock-bench [ENGINE...]: runs every workload on every engine that was asked for.
#include "benchmarks/awake_cpus.hpp"
#include "benchmarks/crosslock_subject.hpp"
#include "benchmarks/report.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>

namespace {

using namespace crosslock::bench;

constexpr int usage_error = 64;

struct choice {
  std::vector<std::string> engines;
  std::vector<std::string> only;
  bool json = false;
  bool plain = false;
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

void run_engine(const offer& offer, const std::vector<workload>& workloads, const choice& choice,
                report& report) {
  const auto engine = offer.make();
  std::vector<std::unique_ptr<subject>> subjects;
  subjects.push_back(engine->floor());
  subjects.push_back(make_crosslock_subject(engine->url()));
  surroundings around{*engine, seconds{choice.span}};
  report.begin(offer.name);
  for (const workload& workload : workloads) {
    auto rows = run_rounds(workload, subjects, choice.rounds, around);
    for (summary& row : rows) row.engine = offer.name;
    report.add(rows, workload, engine->note(workload.name));
  }
}

void add_options(CLI::App& app, choice& choice) {
  app.add_option("ENGINE", choice.engines, "Which engines; without it every one that is linked");
  app.add_flag("--json", choice.json, "One JSON object per line");
  app.add_flag("--plain", choice.plain, "Let idle CPUs halt, as they do in daily life");
  app.add_option("--rounds", choice.rounds, "How often each subject takes its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", choice.span, "How long one turn of one subject is measured")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--only", choice.only, "Only this workload; may be given several times");
}

int run(int argc, char** argv) {
  CLI::App app{"Compares crosslock with the floor of each engine.", "bench"};
  choice choice;
  add_options(app, choice);
  std::vector<offer> engines;
  std::vector<workload> chosen;
  try {
    app.parse(argc, argv);
    engines = pick(offers(), choice.engines, "ENGINE");
    chosen = pick(workloads(), choice.only, "--only");
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : usage_error;
  }

  std::optional<awake_cpus> awake;
  if (!choice.plain) awake.emplace();
  const auto report = choice.json ? make_json_lines(std::cout, std::cerr) : make_table(std::cout);
  report->remark(awake && awake->works()
                     ? "idle CPUs are kept from halting (/dev/cpu_dma_latency = 0)"
                     : "idle CPUs may halt: waking them is a part of what is measured");
  for (const offer& engine : engines) run_engine(engine, chosen, choice, *report);
  return std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::cerr << "bench: " << failure.what() << '\n';
    return 1;
  }
}
