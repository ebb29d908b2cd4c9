// Runs the rules and words the verdict.
#include "checker/invariants.hpp"

#include "checker/rules.hpp"

#include <algorithm>
#include <cstdio>

namespace crosslock::checker {

std::string_view to_string(invariant which) noexcept {
  switch (which) {
    case invariant::record:
      return "record";
    case invariant::exclusion:
      return "I1 exclusion";
    case invariant::fencing:
      return "I2 fencing";
    case invariant::resource:
      return "I3 resource";
    case invariant::wake_up:
      return "I4 wake-up";
    case invariant::fifo:
      return "I5 fifo";
    case invariant::owner:
      return "I6 owner";
    case invariant::loss:
      return "I7 loss";
    case invariant::orphan:
      return "I8 orphan";
    case invariant::deadline:
      return "I10 deadline";
    case invariant::counter:
      return "I12 counter";
    case invariant::phantom:
      return "I13 phantom";
  }
  return "?";
}

std::string describe(const event& e) {
  return "token " + std::to_string(e.token) + " of process " + std::to_string(e.proc) +
         " (thread " + std::to_string(e.thr) + ")";
}

std::string seconds(std::int64_t ns) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(ns) / 1e9);
  return text.data();
}

void report::add(invariant which, std::string what, std::size_t first, std::size_t second) {
  if (count_[which]++ >= how_.violations_max) {
    return;
  }
  violation v{which, std::move(what), std::nullopt, std::nullopt, {}};
  if (first != none) {
    v.first = line_.events[first];
    v.context = context_of(*v.first);
  }
  if (second != none) {
    v.second = line_.events[second];
    v.context = context_of(*v.second);
  }
  out_.violations.push_back(std::move(v));
}

history report::context_of(const event& about) const {
  constexpr std::int64_t one_second = 1'000'000'000;
  constexpr std::size_t lines_max = 200;
  const auto earlier = [](const event& e, std::int64_t t) { return e.t < t; };
  history around;
  for (auto e = std::lower_bound(line_.events.begin(), line_.events.end(), about.t - one_second,
                                 earlier);
       e != line_.events.end() && e->t <= about.t + one_second && around.size() < lines_max; ++e) {
    if (e->lock == about.lock || e->ph == phase::nemesis) {
      around.push_back(*e);
    }
  }
  return around;
}

std::set<invariant> verdict::broken() const {
  std::set<invariant> all;
  for (const violation& v : violations) {
    all.insert(v.which);
  }
  return all;
}

std::string verdict::to_string() const {
  std::string text;
  for (const violation& v : violations) {
    text.append(checker::to_string(v.which)).append(": ").append(v.what).append("\n");
    if (v.first) {
      text.append("  first:  ").append(to_json(*v.first)).append("\n");
    }
    if (v.second) {
      text.append("  second: ").append(to_json(*v.second)).append("\n");
    }
    for (const event& e : v.context) {
      text.append("    ").append(to_json(e)).append("\n");
    }
  }
  text += std::to_string(violations.size()) + " violations, " + std::to_string(expected_overlaps) +
          " expected overlaps (longest " + seconds(longest_expected_overlap.count()) + "), " +
          std::to_string(grants) + " grants, " + std::to_string(losses) + " losses, " +
          std::to_string(stale_writes_refused) + " stale writes refused, longest wait while free " +
          seconds(longest_wait_while_free.count()) + "\n";
  return text;
}

verdict check(history events, const check_options& how) {
  const timeline line{std::move(events), how.ties_in_order};
  verdict out;
  report to{line, how, out};
  out.grants = line.grants.size();
  for (const auto& [what, where] : line.malformed) {
    to.add(invariant::record, what, where);
  }
  const std::vector<overlap> overlaps = check_exclusion(line, to);
  check_fencing(line, to);
  check_resource(line, to);
  check_wake_up(line, to);
  check_fifo(line, to);
  check_owner(line, overlaps, to);
  check_loss(line, to);
  check_orphans(line, to);
  check_deadlines(line, to);
  check_counter(line, to);
  check_phantoms(line, to);
  return out;
}

verdict check_files(std::span<const std::filesystem::path> files, const check_options& how) {
  std::vector<history> parts;
  for (const std::filesystem::path& file : files) {
    parts.push_back(read_file(file));
  }
  return check(merge(std::move(parts)), how);
}

}  // namespace crosslock::checker
