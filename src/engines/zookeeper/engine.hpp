// The zookeeper engine: the seam over one session with an ensemble.
#pragma once

#include "engine/engine.hpp"
#include "engine/watched_cells.hpp"
#include "engines/zookeeper/asking.hpp"
#include "engines/zookeeper/claims.hpp"
#include "engines/zookeeper/connection.hpp"

#include <crosslock/options.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {

/// What this engine offers, also known to those who have not opened one.
inline constexpr seam::traits offered{.name = "zookeeper",
                                      .shared = true,
                                      .permits = true,
                                      .first_come = true,
                                      .pushes = true,
                                      .tells_wanted = false,
                                      .tells_when_asked = true,
                                      .reserves_fences = false,
                                      .lease_is_session = true,
                                      .outlives_process = false,
                                      .cells = true,
                                      .watches_cells = true,
                                      .permits_apart = true,
                                      // What one message takes (jute.maxbuffer), less the rest.
                                      .cell_bytes = 1'000'000,
                                      .lease_min = std::chrono::milliseconds{10},
                                      .lease_max = std::chrono::hours{24}};

struct preferences {
  naming names = naming::curator;
  bool single = false;  ///< one node for everybody
};

/// `turn` and `clock` outlive it.
class engine final : public seam::engine, private session_listener {
 public:
  using log = std::function<void(log_level, std::string_view)>;

  engine(connection_settings where, const preferences& how, std::string who, duration timeout,
         seam::turn& turn, seam::clock& clock, log say);
  ~engine() override;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  const seam::traits& about() const noexcept override { return traits_; }
  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
  void renew(std::span<seam::renewal> batch, time_point give_up) override;
  seam::release_answer release(const seam::grant& grant, time_point give_up) override;
  void listen_for_wanted(seam::claim_key key) noexcept override;
  std::optional<seam::grant> adopt(const seam::grant& detached, const seam::claim& next,
                                   time_point give_up) override;
  bool break_lock(const lock_name& name, owner_id owner, time_point give_up) override;
  lock_info look(const lock_name& name, time_point give_up) override;
  std::vector<lock_info> list(std::string_view prefix, time_point give_up) override;
  seam::cell read_cell(const lock_name& name, time_point give_up) override;
  seam::cell watch_cell(const lock_name& name, duration span, time_point give_up) override;
  seam::swap_answer swap_cell(const seam::cell_swap& wanted, time_point give_up) override;
  std::optional<seam::cell> open_cell(const lock_name& name, fence token,
                                      time_point give_up) override;
  void await_news(seam::clock& clock, seam::park_word& word, std::uint32_t expected,
                  time_point until) override;
  void rouse(seam::clock& clock, seam::park_word& word) noexcept override;
  std::vector<seam::finding> examine(time_point give_up) override;
  bool on_own_thread() const noexcept override { return wire_.on_own_thread(); }
  void close() noexcept override;
  void abandon() noexcept override { wire_.abandon(); }

 private:
  // session_listener
  void heard(const event& news) noexcept override;
  void suspended(const error& why) noexcept override;
  void resumed(session_number session) noexcept override;
  void ended(session_number session) noexcept override;
  void beat() noexcept override;

  void refuse(const seam::claim& claim) const;
  standing_ref stand(const seam::claim& claim);
  response leave_and_wait(const standing_ref& one, time_point give_up);
  void share(seam::renewal& item, time_point give_up);
  time_point end_of_stay(const standing_ref& one) const;
  void end_stay(const standing_ref& one);
  void settle_waiter(const standing_ref& waiter, const event& news);
  void told_gone(const standing_ref& holder, const std::string& path);
  void listen_behind(const standing_ref& holder);
  void hear_behind(const standing_ref& holder, const response& said);
  void guard_node(const standing_ref& one, const std::string& path);
  struct stored_cell;
  stored_cell fetch_cell(const lock_name& name, bool watch, time_point give_up);
  bool store_cell(const std::string& path, const stored_cell& next, time_point give_up);
  std::string path_of_name(const lock_name& name) const;

  const preferences how_;
  const duration timeout_;
  seam::turn& turn_;
  seam::clock& clock_;
  const log say_;
  seam::traits traits_;
  claims table_;
  seam::watched_cells cells_;
  connection wire_;
  desk desk_;
};

}  // namespace crosslock::zookeeper
