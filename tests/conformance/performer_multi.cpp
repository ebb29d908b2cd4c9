// What an actor can be told about several locks at once:
//
// | command | answer |
// |---|---|
// | multi acquire WAIT_MS NAME... | held FENCE..., busy |
// | multi valid | yes, no |
// | multi told | the reason of the loss; none |
// | multi release | the worst result, then that of each |
// | multi loop TIMES WORK_US NAME... | done ACCEPTED: take all, write one more for each, release |
#include "conformance/multi_work.hpp"
#include "conformance/performer.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::conformance {

struct performer::several {
  std::unique_ptr<multi_lock> locks;
  std::optional<multi_hold> held;
};

namespace {

std::vector<std::string> rest_of(std::istringstream& words) {
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

}  // namespace

std::string performer::multi(std::istringstream& words) {
  if (!several_) several_ = std::make_shared<several>();
  std::optional<multi_hold>& held = several_->held;
  std::string verb;
  std::int64_t number = 0;
  words >> verb;
  if (verb == "acquire") {
    words >> number;
    held.reset();
    several_->locks = std::make_unique<multi_lock>(locks_, rest_of(words));
    held = several_->locks->try_acquire_for(std::chrono::milliseconds{number});
    if (!held) return "busy";
    std::string answer = "held";
    for (const fence each : held->fences()) answer += ' ' + each.to_string();
    return answer;
  }
  if (verb == "loop") {
    std::int64_t work_us = 0;
    words >> number >> work_us;
    const auto names = rest_of(words);
    multi_lock locks{locks_, names};
    return "done " + std::to_string(increment_all(where_, locks, names, static_cast<int>(number),
                                                  std::chrono::microseconds{work_us}));
  }
  if (!held) return "error not held";
  if (verb == "valid") return held->valid() ? "yes" : "no";
  if (verb == "told") return std::string{to_string(held->lost_reason())};
  if (verb == "release") {
    std::string answer{to_string(held->release())};
    for (const auto each : held->release_results()) answer += ' ' + std::string{to_string(each)};
    return answer;
  }
  return "error nobody knows the command multi " + verb;
}

}  // namespace crosslock::conformance
