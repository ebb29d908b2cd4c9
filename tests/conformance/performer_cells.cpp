// The interpreter of commands about cells.
#include "conformance/performer_cells.hpp"

#include <utility>

namespace crosslock::conformance {
namespace {

template <class T>
T next(std::istringstream& words) {
  T value{};
  words >> value;
  return value;
}

std::chrono::milliseconds next_ms(std::istringstream& words) {
  return std::chrono::milliseconds{next<std::int64_t>(words)};
}

/// The object of that name, made when it is first used.
template <class Kind, class... Rest>
Kind& object(std::map<std::string, std::unique_ptr<Kind>>& all, const client& locks,
             const std::string& name, Rest... rest) {
  auto& found = all[name];
  if (!found) found = std::make_unique<Kind>(locks, name, rest...);
  return *found;
}

}  // namespace

struct cell_performer::kinds {
  std::map<std::string, std::unique_ptr<versioned>> values;
  std::map<std::string, std::unique_ptr<fenced_register>> registers;
  std::map<std::string, std::unique_ptr<count_down_latch>> latches;
  std::map<std::string, std::unique_ptr<barrier>> barriers;
  std::map<std::string, std::unique_ptr<election>> elections;
  std::map<std::string, std::unique_ptr<governed>> terms;
};

cell_performer::cell_performer(surroundings where, client locks, holds held)
    : where_{std::move(where)},
      locks_{std::move(locks)},
      held_{std::move(held)},
      kinds_{std::make_unique<kinds>()} {}
cell_performer::~cell_performer() = default;

std::optional<std::string> cell_performer::perform(const std::string& verb, const std::string& name,
                                                   std::istringstream& words) {
  if (verb == "update") return update(name, next<int>(words));
  if (verb == "inscribe") return inscribe(name, words);
  if (verb == "down" || verb == "await") {
    auto& latch = object(kinds_->latches, locks_, name, next<std::int32_t>(words));
    if (verb == "await") return latch.wait_for(next_ms(words)) ? "open" : "shut";
    latch.count_down(next<std::int32_t>(words));
    return "counted";
  }
  if (verb == "join") {
    auto& all = object(kinds_->barriers, locks_, name, next<std::int32_t>(words));
    return all.enter_for(next_ms(words)) ? "entered" : "gave up";
  }
  if (verb == "part") {
    return kinds_->barriers.at(name)->leave_for(next_ms(words)) ? "left" : "gave up";
  }
  if (verb == "campaign") return campaign(name, words);
  if (verb == "rule") return rule(name, words);
  if (verb == "proclaim") {
    kinds_->terms.at(name)->leads().proclaim(next<std::string>(words));
    return "proclaimed";
  }
  if (verb == "govern") return kinds_->terms.at(name)->work(next_ms(words)) ? "leads" : "lost";
  if (verb == "resign") return std::string{to_string(kinds_->terms.at(name)->resign())};
  return std::nullopt;
}

std::string cell_performer::update(const std::string& name, int times) {
  auto& value = object(kinds_->values, locks_, name);
  for (int i = 0; i < times; ++i) {
    value.update([](const std::string& before) {
      return std::to_string(before.empty() ? 1 : std::stoi(before) + 1);
    });
  }
  return "done " + std::to_string(value.retries());
}

std::string cell_performer::inscribe(const std::string& name, std::istringstream& words) {
  const auto value = next<std::string>(words);
  const hold* const held = held_(next<std::string>(words));
  if (!held) return "error not held";
  return object(kinds_->registers, locks_, name).write(*held, value) ? "accepted" : "refused";
}

std::string cell_performer::campaign(const std::string& name, std::istringstream& words) {
  const auto value = next<std::string>(words);
  auto& term = kinds_->terms[name];
  term.reset();
  term =
      conformance::campaign(where_, object(kinds_->elections, locks_, name), value, next_ms(words));
  return term ? "leads " + term->leads().fence().to_string() : "busy";
}

std::string cell_performer::rule(const std::string& name, std::istringstream& words) {
  const auto value = next<std::string>(words);
  const int times = next<int>(words);
  const duration length = next_ms(words);
  election& office = object(kinds_->elections, locks_, name);
  for (int i = 0; i < times && where_.alive(); ++i) {
    const auto term = conformance::campaign(where_, office, value, duration::max());
    if (!term) return "error not elected";
    term->work(length);
    term->resign();
  }
  return "done";
}

}  // namespace crosslock::conformance
