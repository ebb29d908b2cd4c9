// The redis engine: the seam over one Redis server.
#pragma once

#include "engine/engine.hpp"
#include "engine/guarded.hpp"
#include "engine/log.hpp"
#include "engine/watched_cells.hpp"
#include "engines/redis/connection.hpp"
#include "engines/redis/foreign_turns.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/subscription.hpp"
#include "line_rules/waiting_room.hpp"

#include <crosslock/options.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// What this engine offers, also known to those who have not opened one.
inline constexpr seam::traits offered{.name = "redis",
                                      .shared = true,
                                      .permits = true,
                                      .first_come = true,
                                      .pushes = true,
                                      .tells_wanted = true,
                                      .reserves_fences = true,
                                      .lease_is_session = false,
                                      .outlives_process = true,
                                      .posts_releases = true,
                                      .cells = true,
                                      .watches_cells = true,
                                      .lease_min = std::chrono::milliseconds{10},
                                      .lease_max = std::chrono::hours{24}};

/// What the URL says beside the address.
struct preferences {
  bool eviction_allowed = false;
  bool share_with_foreigners = false;
};

/// `events` and `clock` outlive it.
class engine final : public seam::engine {
 public:
  using log = seam::log;

  engine(const address& where, const preferences& how, const std::string& who, duration timeout,
         seam::engine_events& events, seam::clock& clock, log say);
  ~engine() override;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  const seam::traits& about() const noexcept override { return traits_; }
  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
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
  void await_news(seam::clock& clock, seam::park_word& word, std::uint32_t expected,
                  time_point until) override;
  void rouse(seam::clock& clock, seam::park_word& word) noexcept override;
  std::vector<seam::finding> examine(time_point give_up) override;
  bool on_own_thread() const noexcept override;
  void close() noexcept override;
  void abandon() noexcept override;

 private:
  struct ask_outcome {
    seam::answer answer;
    std::optional<seam::grant> overtaken_by;  ///< the grant that came before the answer
  };
  struct ask_words;
  struct ask_under_way;
  struct renewal_words;

  /// Runs a script and uses its answer; throws what a refusal means.
  template <class Use>
  auto run(script_call call, std::string_view name, time_point give_up, Use use);
  connection::answers call(script_call& what, time_point give_up);
  [[noreturn]] void refuse(std::string_view failure, std::string_view name);
  /// It is no primary any more: the next request goes to whoever the address leads to then.
  void leave_server(const error& why);
  void write_release(std::string& out, const seam::grant& grant, bool by_text) const;

  void warn(const std::string& text) const;
  void warn_of_polling(const error& why) const;
  void check_rights(time_point give_up);
  void log_in(stream& to, parser& from, time_point give_up);
  void tell_findings(std::span<const seam::finding> findings);
  void note_stranger(const lock_name& name, std::string_view kind);
  ask_outcome note_answer(const seam::claim& claim, const reply& said, time_point sent);
  void note_failure(const seam::claim& claim, const error& why);
  void post_ask(const ask_under_way& ask, bool by_text);
  void hear_answer(const ask_under_way& ask, const reply* said, const error* why);
  void renew_part(std::span<seam::renewal> part, time_point give_up);
  void note_renewal(const reply& said, seam::renewal& one);
  std::vector<std::string> names_in_use(std::string_view prefix, time_point give_up);
  std::vector<lock_info> look_at(std::span<const std::string> names, time_point give_up);
  void hear(std::string_view message);
  void give_back_offer(const seam::pushed_grant& offer, bool by_text);
  void everybody_looks();
  void end_watches() noexcept;
  seam::grant make_grant(const seam::name_ref& name, const owner_id& owner, fence first,
                         duration lease, time_point sent, bool wanted) const;

  const std::string client_;
  const std::string self_;  ///< client and who: how scripts write us down
  const preferences how_;
  const duration timeout_;
  const key_set keys_;
  seam::engine_events& events_;
  seam::clock& clock_;
  const log say_;
  seam::traits traits_;
  seam::waiting_room room_;
  seam::watched_cells cells_;
  seam::mutex said_mutex_;
  /// The last warnings, so that a reconnect does not repeat them.
  std::string said_ CROSSLOCK_GUARDED_BY(said_mutex_);
  /// Names where another library has been seen.
  std::set<std::string, std::less<>> strangers_ CROSSLOCK_GUARDED_BY(said_mutex_);
  seam::mutex turns_mutex_;
  foreign_turns turns_ CROSSLOCK_GUARDED_BY(turns_mutex_);
  connection connection_;
  subscription subscription_;
  bool closed_ = false;
};

}  // namespace crosslock::redis
