// Readers, writers and permits of an actor.
#include "conformance/mode_performer.hpp"

#include <random>

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

std::chrono::microseconds next_us(std::istringstream& words) {
  return std::chrono::microseconds{next<std::int64_t>(words)};
}

/// Much longer than the others read.
constexpr duration upgrade_patience = std::chrono::seconds{2};

std::string describe(const std::unique_ptr<witnessed>& held) {
  return held ? "held " + held->held().fence().to_string() : "busy";
}

bool write_one_more(const surroundings& where, witnessed& held, duration work) {
  const std::int64_t before = where.resource->read(held.held().name().str());
  held.work(work);
  return held.held().valid() && held.write(before + 1);
}

/// False when the number changed under a valid hold.
bool read_twice(const surroundings& where, witnessed& held, duration work) {
  const std::string name = held.held().name().str();
  const std::int64_t before = where.resource->read(name);
  held.work(work);
  const std::int64_t after = where.resource->read(name);
  // In this order: what is still valid now was so when it was read.
  return before == after || !where.alive() || !held.held().valid();
}

bool try_upgrade(witnessed& held, shared_mutex& lock, duration wait) {
  try {
    return held.upgrade(lock, wait);
  } catch (const error& why) {
    // Another one waits, the hold was lost in between, or there was no answer in time: let go.
    const bool told = why.which() == errc::upgrade_conflict || why.which() == errc::lost ||
                      why.which() == errc::timed_out;
    if (!told) throw;
    return false;
  }
}

/// A hold that was lost in between cannot be downgraded.
bool try_downgrade(witnessed& held, shared_mutex& lock) {
  try {
    held.downgrade(lock);
    return true;
  } catch (const error& why) {
    if (why.which() != errc::lost) throw;
    return false;
  }
}

}  // namespace

read_and_written read_and_write(const surroundings& where, shared_mutex& lock, int times,
                                duration work, std::uint64_t seed, std::int32_t thread) {
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(seed + 1)};
  read_and_written result;
  const auto read = [&](witnessed& held) {
    if (!read_twice(where, held, work)) ++result.torn;
  };
  for (int i = 0; i < times && where.alive(); ++i) {
    const auto luck = random() % 10;
    const bool reads = luck < 7;
    const auto mode = reads ? claim_mode::shared : claim_mode::exclusive;
    const auto held = acquire(where, lock, mode, duration::max(), {}, thread);
    if (reads) read(*held);
    const bool writes = luck == 6 ? try_upgrade(*held, lock, upgrade_patience) : !reads;
    if (writes && write_one_more(where, *held, work)) ++result.accepted;
    if (writes && luck % 2 == 0 && try_downgrade(*held, lock)) read(*held);
    held->release();
  }
  return result;
}

void use_permits(const surroundings& where, semaphore& lock, int times, duration work,
                 std::uint64_t seed, std::int32_t thread) {
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(seed + 1)};
  const auto of = static_cast<std::uint32_t>(lock.permits());
  for (int i = 0; i < times && where.alive(); ++i) {
    const auto request = static_cast<std::int32_t>(1 + random() % of);
    const auto held = acquire(where, lock, request, duration::max(), {}, thread);
    held->work(work);
    held->release();
  }
}

mode_performer::mode_performer(surroundings where, client locks)
    : where_{std::move(where)}, locks_{std::move(locks)} {}

std::optional<std::string> mode_performer::perform(const std::string& verb, const std::string& name,
                                                   std::istringstream& words,
                                                   std::unique_ptr<witnessed>& held) {
  if (verb == "share") {
    const duration wait = next_ms(words);
    const duration lease = next_ms(words);
    acquire_how how;
    if (lease > duration::zero()) how.lease = lease;
    held.reset();
    held = acquire(where_, shared_named(name), claim_mode::shared, wait, how);
    return describe(held);
  }
  if (verb == "permit") {
    const auto count = next<std::int32_t>(words);
    const auto of = next<std::int32_t>(words);
    held.reset();
    held = acquire(where_, semaphore_named(name, of), count, next_ms(words));
    return describe(held);
  }
  if (verb == "mixed") {
    const int times = next<int>(words);
    const duration work = next_us(words);
    const auto seed = next<std::uint64_t>(words);
    const auto result = read_and_write(where_, shared_named(name), times, work, seed);
    return result.torn > 0 ? "torn" : "done " + std::to_string(result.accepted);
  }
  if (verb == "permits") {
    const auto of = next<std::int32_t>(words);
    const int times = next<int>(words);
    const duration work = next_us(words);
    use_permits(where_, semaphore_named(name, of), times, work, next<std::uint64_t>(words));
    return "done " + std::to_string(times);
  }
  if (verb != "downgrade" && verb != "upgrade") return std::nullopt;
  if (!held) return "error not held";
  return change(verb, shared_named(name), words, *held);
}

std::string mode_performer::change(const std::string& verb, shared_mutex& lock,
                                   std::istringstream& words, witnessed& held) {
  if (verb == "downgrade") {
    held.downgrade(lock);
    return "shared " + held.held().fence().to_string();
  }
  return held.upgrade(lock, next_ms(words)) ? "exclusive " + held.held().fence().to_string()
                                            : "shared";
}

shared_mutex& mode_performer::shared_named(const std::string& name) {
  auto& lock = shared_by_name_[name];
  if (!lock) lock = std::make_unique<shared_mutex>(locks_, name);
  return *lock;
}

semaphore& mode_performer::semaphore_named(const std::string& name, std::int32_t of) {
  auto& lock = semaphores_[{name, of}];
  if (!lock) lock = std::make_unique<semaphore>(locks_, name, of);
  return *lock;
}

}  // namespace crosslock::conformance
