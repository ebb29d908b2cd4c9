// The memory engine: the seam over a connection to a memory server.
#pragma once

#include "engine/engine.hpp"
#include "engine/guarded.hpp"
#include "engines/memory/connection.hpp"
#include "line_rules/waiting_room.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::memory {

/// What this engine offers, also known to those who have not opened one.
inline constexpr seam::traits offered{.name = "memory",
                                      .shared = true,
                                      .permits = true,
                                      .first_come = true,
                                      .pushes = true,
                                      .tells_wanted = true,
                                      .reserves_fences = true,
                                      .lease_is_session = false,
                                      .outlives_process = true,
                                      .within_process = true,
                                      .posts_releases = true,
                                      .cells = true,
                                      .watches_cells = true,
                                      .lease_min = std::chrono::milliseconds{10},
                                      .lease_max = std::chrono::hours{24}};

/// `events` and `clock` outlive it.
class engine final : public seam::engine {
 public:
  engine(std::shared_ptr<network> network, seam::engine_events& events, seam::clock& clock,
         const std::string& who);
  ~engine() override;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  const seam::traits& about() const noexcept override;
  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  /// May report to engine_events before it returns.
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
  /// One message for the whole batch.
  void renew(std::span<seam::renewal> batch, time_point give_up) override;
  seam::release_answer release(const seam::grant& grant, time_point give_up) override;
  void post_release(std::span<const seam::parting_ref> batch, time_point give_up) noexcept override;
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
  std::vector<seam::finding> examine(time_point give_up) override;
  void close() noexcept override;
  void abandon() noexcept override;

  /// How a network with faults names this client.
  client_id id() const noexcept { return connection_->id(); }
  /// How many claims it believes to be in line.
  std::size_t waiting() const { return room_.size(); }

 private:
  struct ask_outcome {
    seam::answer answer;
    std::optional<seam::grant> overtaken_by;  ///< the grant that came before the answer
  };
  ask_outcome note_answer(const seam::claim& claim, const ask_reply& heard, time_point sent);
  void note_failure(const seam::claim& claim, const error& why);
  void hear_answer(const seam::claim& claim, time_point sent, const outcome& result);
  std::optional<request> hear(const push& news);
  void release_answered(const seam::parting_ref& one, const outcome& result);
  void await_releases(const lock_name& name, time_point give_up);
  bool comes_behind_release(const seam::claim& claim, time_point give_up);

  seam::engine_events& events_;
  seam::clock& clock_;
  const who_ref who_;
  const seam::traits traits_;
  seam::waiting_room room_;

  /// Messages may overtake each other here, but no ask overtakes a release of the same name that
  /// nobody waits for. By name: how many are on their way, and the asks that come behind them.
  struct releases {
    int open = 0;
    std::vector<std::pair<seam::claim, time_point>> asks;
  };
  seam::park_word released_{0};
  seam::mutex mutex_;
  std::map<std::string, releases, std::less<>> releases_ CROSSLOCK_GUARDED_BY(mutex_);
  bool closed_ CROSSLOCK_GUARDED_BY(mutex_) = false;

  const std::shared_ptr<connection> connection_;
};

}  // namespace crosslock::memory
