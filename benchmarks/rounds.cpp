// Rounds, medians and ratios.
#include "benchmarks/rounds.hpp"

#include <algorithm>

namespace crosslock::bench {
namespace {

/// Of one subject in one workload, round by round.
using history = std::vector<measured>;

std::optional<spread> spread_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  const double median = odd ? values[half] : (values[half - 1] + values[half]) / 2;
  return spread{median, values.front(), values.back()};
}

std::optional<double> median_of(const history& runs, std::optional<double> measured::*what) {
  std::vector<double> values;
  for (const measured& run : runs) {
    if (run.*what) values.push_back(*(run.*what));
  }
  const auto found = spread_of(std::move(values));
  return found ? std::optional{found->median} : std::nullopt;
}

std::optional<spread> ratio_of(const history& runs, const history& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].rate && others[i].rate) ratios.push_back(*runs[i].rate / *others[i].rate);
  }
  return spread_of(std::move(ratios));
}

summary summarize(const history& runs, const history& floors) {
  summary all;
  all.rate = median_of(runs, &measured::rate);
  all.ratio = ratio_of(runs, floors);
  all.requests_per_op = median_of(runs, &measured::requests_per_op);
  all.round_trips_per_op = median_of(runs, &measured::round_trips_per_op);
  all.notices_per_op = median_of(runs, &measured::notices_per_op);
  all.share_max_min = median_of(runs, &measured::share_max_min);
  all.cpu_us_per_op = median_of(runs, &measured::cpu_us_per_op);
  all.allocations_per_op = median_of(runs, &measured::allocations_per_op);
  all.bytes = median_of(runs, &measured::bytes);
  all.system_calls = runs.front().system_calls;

  histogram latency;
  for (const measured& run : runs) latency.add(run.latency);
  if (!latency.empty()) {
    all.p50_us = latency.percentile_us(0.50);
    all.p99_us = latency.percentile_us(0.99);
  }
  return all;
}

/// With the floor all are compared anyway.
std::vector<comparison> comparisons_of(const contest& contest, const std::vector<history>& runs,
                                       std::size_t subject) {
  std::vector<comparison> made;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (i == subject) continue;
    const auto ratio = ratio_of(runs[subject], runs[i]);
    if (ratio) made.push_back({contest.subjects[i]->name(), *ratio});
  }
  return made;
}

}  // namespace

std::vector<std::vector<summary>> run_rounds(const std::vector<contest>& family, int rounds,
                                             surroundings& around) {
  std::vector<std::vector<history>> runs;
  for (const contest& contest : family) runs.emplace_back(contest.subjects.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t w = 0; w < family.size(); ++w) {
      for (std::size_t i = 0; i < runs[w].size(); ++i) {
        runs[w][i].push_back(family[w].workload.run(*family[w].subjects[i], around));
      }
    }
  }
  std::vector<std::vector<summary>> result(family.size());
  for (std::size_t w = 0; w < family.size(); ++w) {
    for (std::size_t i = 0; i < runs[w].size(); ++i) {
      summary& line = result[w].emplace_back(summarize(runs[w][i], runs[w].front()));
      line.subject = family[w].subjects[i]->name();
      line.workload = family[w].workload.name;
      if (line.subject == "crosslock") {
        line.comparisons = comparisons_of(family[w], runs[w], i);
      }
      if (w > 0 && line.subject == "crosslock") {
        line.relative = family.front().workload.name;
        line.relation = ratio_of(runs[w][i], runs.front()[i]);
      }
    }
  }
  return result;
}

}  // namespace crosslock::bench
