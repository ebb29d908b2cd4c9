// An engine on a real redis-server, used verb by verb.
#pragma once

#include "engine/owner_source.hpp"
#include "engine/registry.hpp"
#include "servers/redis_server.hpp"

#include <crosslock/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// Writes down what is told.
class heard_events final : public seam::engine_events {
 public:
  void answered(const seam::claim& claim, const seam::answer&) noexcept override {
    const std::lock_guard lock{mutex_};
    answered_.push_back(claim.owner);
    changed_.notify_all();
  }
  void granted(const seam::grant& grant) noexcept override {
    if (before_grant) before_grant();
    const std::lock_guard lock{mutex_};
    granted_.push_back(grant);
    changed_.notify_all();
  }
  void look_again(seam::claim_key) noexcept override {}
  void wanted(seam::claim_key key) noexcept override {
    const std::lock_guard lock{mutex_};
    wanted_.push_back(key.owner);
    changed_.notify_all();
  }
  void failed(seam::claim_key, const error&) noexcept override {}
  void cell_changed(const lock_name& name) noexcept override {
    const std::lock_guard lock{mutex_};
    ++cells_[name.str()];
    changed_.notify_all();
  }

  /// For those who are slow to take what they are given. Set before the first news.
  std::function<void()> before_grant;

  /// The grant that is pushed for that owner; empty when none comes in time.
  std::optional<seam::grant> await_grant(const owner_id& owner, duration within) {
    std::unique_lock lock{mutex_};
    const auto find = [&] { return std::ranges::find(granted_, owner, &seam::grant::owner); };
    changed_.wait_for(lock, within, [&] { return find() != granted_.end(); });
    return find() == granted_.end() ? std::nullopt : std::optional{*find()};
  }
  /// That an asynchronous ask of his has been answered.
  bool await_answer(const owner_id& owner, duration within) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, within,
                             [&] { return std::ranges::count(answered_, owner) > 0; });
  }
  bool await_wanted(const owner_id& owner, duration within, std::ptrdiff_t times = 1) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, within,
                             [&] { return std::ranges::count(wanted_, owner) >= times; });
  }

  bool await_cell(const std::string& name, int times, duration within) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, within, [&] { return cells_[name] >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> cells_;
  std::vector<seam::grant> granted_;
  std::vector<owner_id> wanted_;
  std::vector<owner_id> answered_;
};

/// One client at that URL.
class engine_rig {
 public:
  explicit engine_rig(const std::string& url, duration timeout = std::chrono::seconds{5})
      : url_{seam::parse_url(url)},
        engine{seam::open_engine({.url = url_,
                                  .who = "a test",
                                  .timeout = timeout,
                                  .events = events,
                                  .clock = seam::real_clock(),
                                  .log = [this](log_level level, std::string_view text) {
                                    const std::lock_guard lock{mutex_};
                                    if (level >= log_level::warning) {
                                      warnings_ += text;
                                      warnings_ += '\n';
                                    }
                                  }})} {}
  ~engine_rig() { engine->close(); }
  engine_rig(const engine_rig&) = delete;
  engine_rig& operator=(const engine_rig&) = delete;

  static time_point soon() { return seam::real_clock().now() + std::chrono::seconds{5}; }

  static seam::claim claim(const std::string& name, bool wait = false) {
    static seam::owner_source owners{seam::real_clock()};
    return {.name = std::make_shared<const lock_name>(name),
            .owner = owners.draw(),
            .mode = claim_mode::exclusive,
            .permits = 1,
            .of = 1,
            .lease = std::chrono::seconds{30},
            .wait = wait};
  }

  seam::answer ask(const seam::claim& claim) { return engine->ask(claim, soon()); }
  /// The hold on a name that is free.
  seam::grant take(const std::string& name) {
    const seam::answer got = ask(claim(name));
    if (got.result != seam::ask_result::granted) throw std::runtime_error{name + " is not free"};
    return got.granted;
  }
  bool give_back(const seam::grant& grant) {
    return engine->release(grant, soon()) == seam::release_answer::released;
  }
  std::string warnings() const {
    const std::lock_guard lock{mutex_};
    return warnings_;
  }

 private:
  mutable std::mutex mutex_;
  std::string warnings_;
  seam::url url_;

 public:
  heard_events events;
  const std::unique_ptr<seam::engine> engine;
};

inline std::string socket_url(const servers::redis_server& server, const std::string& more = {}) {
  return "redis+unix://" + server.address().path + more;
}

/// The error that a call throws.
template <class Call>
error error_of(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    return why;
  }
  ADD_FAILURE() << "nothing failed";
  return error{errc::closed, "nothing failed"};
}

inline bool mentions(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// The code and the words of the error that a call throws.
template <class Call>
void expect_error(errc code, std::string_view words, Call&& call) {
  const error why = error_of(call);
  EXPECT_EQ(why.which(), code) << why.what();
  EXPECT_EQ(why.engine(), "redis") << why.what();
  EXPECT_TRUE(mentions(why.what(), words)) << why.what();
}

}  // namespace crosslock::redis
