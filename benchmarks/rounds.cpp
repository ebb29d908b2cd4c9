// Rounds, medians and ratios.
#include "benchmarks/rounds.hpp"

#include <algorithm>

namespace crosslock::bench {
namespace {

std::optional<spread> spread_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  const double median = odd ? values[half] : (values[half - 1] + values[half]) / 2;
  return spread{median, values.front(), values.back()};
}

std::optional<double> median_of(const std::vector<measured>& runs,
                                std::optional<double> measured::*what) {
  std::vector<double> values;
  for (const measured& run : runs) {
    if (run.*what) values.push_back(*(run.*what));
  }
  const auto found = spread_of(std::move(values));
  return found ? std::optional{found->median} : std::nullopt;
}

summary summarize(const std::vector<measured>& runs, const std::vector<measured>& floors) {
  summary all;
  all.rate = median_of(runs, &measured::rate);
  all.requests_per_op = median_of(runs, &measured::requests_per_op);
  all.share_max_min = median_of(runs, &measured::share_max_min);
  all.cpu_us_per_op = median_of(runs, &measured::cpu_us_per_op);
  all.bytes = median_of(runs, &measured::bytes);
  all.system_calls = runs.front().system_calls;

  histogram latency;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    latency.add(runs[i].latency);
    if (runs[i].rate && floors[i].rate) ratios.push_back(*runs[i].rate / *floors[i].rate);
  }
  all.ratio = spread_of(std::move(ratios));
  if (!latency.empty()) {
    all.p50_us = latency.percentile_us(0.50);
    all.p99_us = latency.percentile_us(0.99);
  }
  return all;
}

}  // namespace

std::vector<summary> run_rounds(const workload& workload,
                                const std::vector<std::unique_ptr<subject>>& subjects, int rounds,
                                surroundings& around) {
  std::vector<std::vector<measured>> runs(subjects.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      runs[i].push_back(workload.run(*subjects[i], around));
    }
  }
  std::vector<summary> result;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    result.push_back(summarize(runs[i], runs.front()));
    result.back().subject = subjects[i]->name();
    result.back().workload = workload.name;
  }
  return result;
}

}  // namespace crosslock::bench
