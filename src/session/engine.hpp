// What engines whose lease is a session do alike: the verbs of the seam that deal with claims, and
// what happens to claims by itself. What is left to an engine is a tree (the connection), a
// claim_codec (how claims are written there), and cells and inspection.
#pragma once

#include "engine/engine.hpp"
#include "engine/log.hpp"
#include "session/asking.hpp"
#include "session/claim_environment.hpp"
#include "session/claims.hpp"
#include "session/tree.hpp"

#include <crosslock/options.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crosslock::session {

/// How long a try for permits stays behind one that there would be enough for as well, and that
/// does not move.
inline constexpr duration a_moment = std::chrono::seconds{1};

/// `events` and `clock` outlive it.
class engine : public seam::engine, protected session_listener {
 public:
  using log = seam::log;

  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
  void renew(std::span<seam::renewal> batch, time_point give_up) override;
  seam::release_answer release(const seam::grant& grant, time_point give_up) override;
  void post_release(std::span<const seam::parting_ref> batch, time_point give_up) noexcept override;
  void listen_for_wanted(seam::claim_key key) noexcept override;
  std::optional<seam::grant> adopt(const seam::grant& detached, const seam::claim& next,
                                   time_point give_up) override;
  void await_news(seam::clock& clock, seam::park_word& word, std::uint32_t expected,
                  time_point until) override;
  void rouse(seam::clock& clock, seam::park_word& word) noexcept override;

 protected:
  struct parts {
    std::unique_ptr<tree> wire;
    std::unique_ptr<claim_codec> words;
  };
  engine(const std::function<parts(session_listener&)>& make, seam::engine_events& events,
         seam::clock& clock, log say);

  /// Throws when such claims are not offered.
  virtual void refuse(const seam::claim& claim) const = 0;
  /// The way that this kind of claim takes.
  virtual std::shared_ptr<asking> way_of(const standing_ref& mine, asking::told then) = 0;
  /// Downgrades: a shared claim takes the place of the exclusive one; standing::readers_node then.
  /// Throws when that is not certain.
  virtual void share(seam::renewal& item, time_point give_up) = 0;
  /// Something that is no claim has changed.
  virtual void changed_elsewhere(const std::string& /*path*/) noexcept {}
  /// News of everything may have been missed.
  virtual void missed_news() noexcept {}
  /// Nobody goes on any more. The connection has been closed.
  void forget_staying() noexcept;

  // session_listener
  void heard(const event& news) noexcept override;
  void suspended(const error& why) noexcept override;
  void resumed(session_number session) noexcept override;
  void ended(session_number session) noexcept override;
  void shortened() noexcept override { events_.session_cut(); }
  void beat() noexcept override;

  seam::engine_events& events_;
  seam::clock& clock_;
  const log say_;
  claims table_;
  const parts parts_;
  claim_environment environment_;

 private:
  standing_ref stand(const seam::claim& claim);
  /// Null when it is not, or no longer, ours.
  standing_ref find_held(const seam::grant& grant);
  response leave_and_wait(const standing_ref& one, time_point give_up);
  time_point end_of_stay(const standing_ref& one) const;
  void end_stay(const standing_ref& one);
  void let_in_or_wake(const standing_ref& waiter, const event& news);
  void told_gone(const standing_ref& holder, const std::string& path);
  void listen_behind(const standing_ref& holder);
  void hear_behind(const standing_ref& holder, const response& said);
  void guard_node(const standing_ref& one, const std::string& path);
};

}  // namespace crosslock::session
