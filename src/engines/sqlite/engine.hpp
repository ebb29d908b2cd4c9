// The sqlite engine: the seam over a database file that the processes of one machine share.
#pragma once

#include "engine/engine.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/contention_hint.hpp"
#include "engines/sqlite/hearing.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::sqlite {

/// As whom a client stands in the database.
struct identity {
  std::string text;      ///< shown to others
  std::int64_t pid = 0;  ///< with which process its holds end; 0: with this one
};

/// What this engine offers, also known to those who have not opened one.
inline constexpr seam::traits offered{.name = "sqlite",
                                      .shared = true,
                                      .permits = true,
                                      .first_come = true,
                                      .pushes = true,
                                      .tells_wanted = true,
                                      .reserves_fences = true,
                                      .lease_is_session = false,
                                      .outlives_process = true,
                                      .watches_process = true,
                                      .cells = true,
                                      .watches_cells = true,
                                      .works_after_fork = false,
                                      .lease_min = std::chrono::milliseconds{10},
                                      .lease_max = std::chrono::hours{24}};

/// `events` and `clock` outlive it.
class engine final : public seam::engine {
 public:
  engine(const database_location& location, identity who, seam::engine_events& events,
         seam::clock& clock);
  ~engine() override;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  const seam::traits& about() const noexcept override;
  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
  void renew(std::span<seam::renewal> batch, time_point give_up) override;
  seam::release_answer release(const seam::grant& grant, time_point give_up) override;
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
  bool on_own_thread() const noexcept override;
  void close() noexcept override;
  void abandon() noexcept override;

 private:
  seam::answer note_answer(const seam::claim& claim, const seam::ask_answer& outcome,
                           time_point sent);
  void renew_part(std::span<seam::renewal*> part, time_point give_up);
  void hear(std::uint32_t name_hash);
  void note_failure(const seam::claim& claim, const remembered& before, const error& why);
  /// An ask on its way to the answer.
  struct under_way;
  bool ask_at_once(const seam::claim& claim);
  void answer_asks(const std::vector<listener::posted_ask>& asks);
  void carry_out(const std::vector<listener::posted_ask>& asks, std::vector<under_way>& each);

  seam::engine_events& events_;
  seam::clock& clock_;
  const std::shared_ptr<connection> connection_;
  member self_;
  const std::shared_ptr<listener> listener_;
  contention_hint contention_;
  bool closed_ = false;
};

}  // namespace crosslock::sqlite
