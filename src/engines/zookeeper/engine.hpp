// The zookeeper engine: the seam over one session with an ensemble.
#pragma once

#include "engine/engine.hpp"
#include "engine/watched_cells.hpp"
#include "engines/zookeeper/connection.hpp"
#include "engines/zookeeper/nodes.hpp"
#include "session/engine.hpp"

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
                                      .posts_releases = true,
                                      .cells = true,
                                      .watches_cells = true,
                                      .cell_bytes = message_longest,
                                      .lease_min = std::chrono::milliseconds{10},
                                      .lease_max = std::chrono::hours{24}};

/// `events` and `clock` outlive it.
class engine final : public session::engine {
 public:
  engine(connection_settings where, const preferences& how, std::string who, duration timeout,
         seam::engine_events& events, seam::clock& clock, log say);
  ~engine() override;

  const seam::traits& about() const noexcept override { return traits_; }
  bool break_lock(const lock_name& name, owner_id owner, time_point give_up) override;
  lock_info look(const lock_name& name, time_point give_up) override;
  std::vector<lock_info> list(std::string_view prefix, time_point give_up) override;
  seam::cell read_cell(const lock_name& name, time_point give_up) override;
  seam::cell watch_cell(const lock_name& name, duration span, time_point give_up) override;
  seam::swap_answer swap_cell(const seam::cell_swap& wanted, time_point give_up) override;
  std::optional<seam::cell> open_cell(const lock_name& name, fence token,
                                      time_point give_up) override;
  std::vector<seam::finding> examine(time_point give_up) override;
  bool on_own_thread() const noexcept override { return wire_.on_own_thread(); }
  void close() noexcept override;
  void abandon() noexcept override { wire_.abandon(); }

 private:
  // session::engine
  void refuse(const seam::claim& claim) const override;
  std::shared_ptr<asking> way_of(const standing_ref& mine, asking::told then) override;
  void share(seam::renewal& item, time_point give_up) override;
  void changed_elsewhere(const std::string& path) noexcept override;
  void missed_news() noexcept override;
  // session_listener
  void resumed(session_number session) noexcept override;

  struct stored_cell;
  stored_cell fetch_cell(const lock_name& name, bool watch, time_point give_up);
  bool store_cell(const std::string& path, stored_cell& next, time_point give_up);
  bool remove_cell(const std::string& path, const stored_cell& found, time_point give_up);
  bool carried_out(std::vector<session::change> changes, const std::string& path,
                   time_point give_up);
  std::string path_of_name(const lock_name& name) const;

  const preferences how_;
  const duration timeout_;
  const duration asked_;  ///< for sessions
  seam::traits traits_;
  seam::watched_cells cells_;
  connection& wire_;
  const nodes& words_;
  duration reported_{};  ///< the session that is shorter than asked; belongs to who tells news
};

}  // namespace crosslock::zookeeper
