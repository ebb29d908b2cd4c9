// Engines under test: a recorder of their events, and a time that only moves by itself when
// somebody waits.
#pragma once

#include "engines/memory/engine.hpp"
#include "engines/memory/network.hpp"
#include "memory_rig.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::memory {

class recorded_events final : public seam::engine_events {
 public:
  void answered(const seam::claim& claim, const seam::answer& answer) noexcept override {
    const std::lock_guard guard{mutex_};
    answers.push_back(answer);
    note("answered", claim.owner);
  }
  void granted(const seam::grant& grant) noexcept override {
    {
      const std::lock_guard guard{mutex_};
      grants.push_back(grant);
      note("granted", grant.owner);
    }
    if (on_granted) on_granted(grant);
  }
  void look_again(seam::claim_key key) noexcept override {
    const std::lock_guard guard{mutex_};
    note("look_again", key.owner);
  }
  void wanted(seam::claim_key key) noexcept override {
    const std::lock_guard guard{mutex_};
    note("wanted", key.owner);
  }
  void failed(seam::claim_key key, const error& why) noexcept override {
    const std::lock_guard guard{mutex_};
    failures.push_back(why);
    note("failed", key.owner);
  }
  void cell_changed(const lock_name& name) noexcept override {
    const std::lock_guard guard{mutex_};
    heard_ += "cell_changed " + name.str() + " ";
  }

  /// "granted 2 wanted 1 "
  std::string heard() const {
    const std::lock_guard guard{mutex_};
    return heard_;
  }

  std::vector<seam::answer> answers;
  std::vector<seam::grant> grants;
  std::vector<error> failures;
  std::function<void(const seam::grant&)> on_granted;

 private:
  void note(const std::string& what, const owner_id& owner) {
    heard_ += what + " " + std::to_string(owner.bytes()[0] + 256 * owner.bytes()[1]) + " ";
  }

  mutable std::mutex mutex_;
  std::string heard_;
};

/// One thread, its events, its time: whoever parks makes the events run.
class slow_motion final : public seam::clock, public scheduler {
 public:
  explicit slow_motion(std::uint64_t seed = 1) : rng_{seed} {}

  time_point now() const noexcept override { return now_; }
  void at(time_point moment, std::function<void()> run) override {
    events_.emplace(std::max(moment, now_), std::move(run));
  }
  std::uint64_t random() override { return rng_(); }

  void park(seam::park_word& word, std::uint32_t expected, time_point until) override {
    while (word.load() == expected && now_ < until && step(until)) {
    }
  }
  void unpark(seam::park_word&) noexcept override {}
  std::unique_ptr<seam::alarm> make_alarm() override { return nullptr; }
  std::unique_ptr<seam::thread> start(std::string_view, std::function<void()>) override {
    return nullptr;
  }
  void fill_random(std::span<std::uint8_t> bytes) override {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng_());
  }

  void run_for(duration span) {
    const time_point end = now_ + span;
    while (now_ < end && step(end)) {
    }
  }

 private:
  bool step(time_point end) {
    if (events_.empty() || events_.begin()->first > end) {
      now_ = end;
      return false;
    }
    auto next = events_.extract(events_.begin());
    now_ = next.key();
    next.mapped()();
    return true;
  }

  time_point now_{1000s};
  std::multimap<time_point, std::function<void()>> events_;
  std::mt19937_64 rng_;
};

}  // namespace crosslock::memory
