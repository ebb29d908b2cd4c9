// The interpreter of an actor's commands.
#include "conformance/performer.hpp"

#include <utility>

namespace crosslock::conformance {
namespace {

template <class T>
T next(std::istringstream& words, T otherwise = {}) {
  T value{};
  return words >> value ? value : otherwise;
}

std::chrono::milliseconds next_ms(std::istringstream& words) {
  return std::chrono::milliseconds{next<std::int64_t>(words)};
}

}  // namespace

performer::performer(surroundings where, client locks)
    : where_{std::move(where)},
      locks_{std::move(locks)},
      modes_{where_, locks_},
      cells_{where_, locks_, [this](const std::string& lock) {
               const owned& mine = lock_named(lock);
               return mine.held ? &mine.held->held() : nullptr;
             }} {}

std::string performer::perform(const std::string& command) {
  std::istringstream words{command};
  try {
    return carry_out(words);
  } catch (const error& why) {
    return "error " + why.code().message();
  } catch (const std::exception& why) {
    return std::string{"error "} + why.what();
  }
}

void performer::note_renewals() {
  for (const auto& [name, mine] : locks_by_name_) {
    if (mine.held) mine.held->note_renewal_idly();
  }
}

std::string performer::carry_out(std::istringstream& words) {
  const auto verb = next<std::string>(words);
  if (verb == "sleep") {
    where_.sleep(next_ms(words));
    return "awake";
  }
  if (verb == "adopt") return adopt(words);
  if (verb == "renew") {
    locks_.renew(receipt::parse(next<std::string>(words)));
    return "renewed";
  }
  if (verb == "multi") return multi(words);
  const auto name = next<std::string>(words);
  if (verb == "enter") return enter(name);
  if (auto said = cells_.perform(verb, name, words)) return *said;
  owned& mine = lock_named(name);
  if (verb == "acquire") return acquire(mine, words);
  if (const auto said = modes_.perform(verb, name, words, mine.held)) return *said;
  if (verb == "loop") {
    const int times = next<int>(words);
    const std::chrono::microseconds work{next<std::int64_t>(words)};
    return "done " + std::to_string(increment(where_, *mine.lock, times, work));
  }
  if (!mine.held) return "error not held";
  if (verb == "work") return mine.held->work(next_ms(words)) ? "held" : "lost";
  if (verb == "valid") return mine.held->held().valid() ? "yes" : "no";
  if (verb == "told") return describe_loss(*mine.held);
  if (verb == "write") return mine.held->write(next<int>(words)) ? "accepted" : "refused";
  if (verb == "detach") return mine.held->held().detach().to_string();
  if (verb == "release") return std::string{to_string(mine.held->release())};
  return "error nobody knows the command " + verb;
}

std::string performer::acquire(owned& mine, std::istringstream& words) {
  const duration wait = next_ms(words);
  const duration lease = next_ms(words);
  acquire_how how;
  if (lease > duration::zero()) how.lease = lease;
  mine.held.reset();
  mine.held = conformance::acquire(where_, *mine.lock, wait, how);
  return mine.held ? "held " + mine.held->held().fence().to_string() : "busy";
}

std::string performer::adopt(std::istringstream& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  const receipt given = receipt::parse(text);
  owned& mine = lock_named(given.name.str());
  mine.held = conformance::adopt(where_, locks_, given);
  return "held " + mine.held->held().fence().to_string();
}

std::string performer::enter(const std::string& name) {
  auto& lock = nested_by_name_[name];
  if (!lock) lock = std::make_unique<recursive_mutex>(locks_, name);
  lock->lock();
  return "depth " + std::to_string(lock->depth());
}

performer::owned& performer::lock_named(const std::string& name) {
  owned& mine = locks_by_name_[name];
  if (!mine.lock) mine.lock = std::make_unique<mutex>(locks_, name);
  return mine;
}

std::string performer::describe_loss(witnessed& held) {
  return std::to_string(held.told()) + ' ' +
         std::to_string(held.told_at().time_since_epoch().count()) + ' ' +
         std::string{to_string(held.held().lost_reason())};
}

}  // namespace crosslock::conformance
