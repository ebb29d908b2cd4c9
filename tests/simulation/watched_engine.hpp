// The memory engine with a witness: writes down every claim that crosses the seam, and works out
// for itself how long each grant may be believed.
#pragma once

#include "engines/memory/engine.hpp"
#include "simulation/stage.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace crosslock::simulation {

/// What a grant is worth by the rule of faults.md: t_send + lease - (1 % + 2 ms).
struct term {
  seam::grant grant;
  time_point sent{};
  duration lease{};
  time_point deadline{};
};

/// Which logical thread the calling simulated thread is; changed after an unknown outcome.
std::int32_t& this_logical_thread() noexcept;

class watched_engine final : public seam::engine, private seam::engine_events {
 public:
  /// `renewed` is called in a timed event after the keeper has applied a renewal of that owner.
  watched_engine(stage& stage, world::process& process, std::int32_t proc,
                 seam::engine_events& core, std::function<void(const owner_id&)> renewed);

  memory::client_id id() const noexcept { return inside_.id(); }
  /// Null when that owner was never granted anything.
  const term* find_term(const owner_id& owner) const;
  /// Nobody believes in that grant any more, though it was not released.
  void note_end(const owner_id& owner, std::string_view why, bool for_good = true);
  /// Was it heard that this grant was taken away, before anybody could take it up?
  bool known_broken(const owner_id& owner) const;
  /// How many claims were neither granted, nor given back, nor withdrawn.
  std::size_t left_behind() const;
  /// For attempts with stolen or old receipts: not written down.
  seam::engine& unwatched() noexcept { return inside_; }

  const seam::traits& about() const noexcept override { return inside_.about(); }
  seam::answer ask(const seam::claim& claim, time_point give_up) override;
  void ask_async(const seam::claim& claim, time_point give_up) override;
  void withdraw(const seam::claim& claim, time_point give_up) override;
  void renew(std::span<seam::renewal> batch, time_point give_up) override;
  seam::release_answer release(const seam::grant& grant, time_point give_up) override;
  std::optional<seam::grant> adopt(const seam::grant& detached, const seam::claim& next,
                                   time_point give_up) override;
  bool break_lock(const lock_name& name, owner_id owner, time_point give_up) override {
    return inside_.break_lock(name, owner, give_up);
  }
  lock_info look(const lock_name& name, time_point give_up) override {
    return inside_.look(name, give_up);
  }
  std::vector<lock_info> list(std::string_view prefix, time_point give_up) override {
    return inside_.list(prefix, give_up);
  }
  seam::cell read_cell(const lock_name& name, time_point give_up) override {
    return inside_.read_cell(name, give_up);
  }
  seam::cell watch_cell(const lock_name& name, duration span, time_point give_up) override {
    return inside_.watch_cell(name, span, give_up);
  }
  seam::swap_answer swap_cell(const seam::cell_swap& wanted, time_point give_up) override {
    return inside_.swap_cell(wanted, give_up);
  }
  std::optional<seam::cell> open_cell(const lock_name& name, fence token,
                                      time_point give_up) override {
    return inside_.open_cell(name, token, give_up);
  }
  bool on_own_thread() const noexcept override { return inside_.on_own_thread(); }
  void close() noexcept override { inside_.close(); }
  void abandon() noexcept override { inside_.abandon(); }

 private:
  struct story {
    checker::claim_record record;
    bool open = true;  ///< asked, and neither granted nor given up
    bool queued = false;
    bool held = false;      ///< granted, and not given back
    bool broken = false;    ///< taken away since
    bool given_up = false;  ///< released or withdrawn: what is still heard of it does not count
    std::optional<owner_id> beside{};  ///< the shared grant that an upgrade does not wait for
    bool upgraded = false;             ///< another grant stands for it in the book
  };

  void answered(const seam::claim& claim, const seam::answer& answer) noexcept override;
  void granted(const seam::grant& grant) noexcept override;
  void look_again(seam::claim_key key) noexcept override { core_.look_again(key); }
  void wanted(seam::claim_key key) noexcept override { core_.wanted(key); }
  void failed(seam::claim_key key, const error& why) noexcept override;
  void cell_changed(const lock_name& name) noexcept override { core_.cell_changed(name); }
  void session_cut() noexcept override { core_.session_cut(); }

  bool mute() const noexcept { return !process_.alive(); }
  story* find(const owner_id& owner);
  void note_ask(const seam::claim& claim, const std::string& lock, std::int32_t thread);
  void note_answer(const owner_id& owner, const seam::answer& answer, bool taken);
  void note_grant(const seam::grant& grant, bool taken);
  void note_failure(const owner_id& owner, const error& why);

  stage& stage_;
  world::process& process_;
  const std::int32_t proc_;
  seam::engine_events& core_;
  const std::function<void(const owner_id&)> renewed_;
  std::map<owner_id, story> stories_;
  std::map<owner_id, term> terms_;
  memory::engine inside_;  ///< last: it may speak at once
};

}  // namespace crosslock::simulation
