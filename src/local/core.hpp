// Everything one client shares: its engine, its keeper, its local lines.
#pragma once

#include "keeper/keeper.hpp"
#include "keeper/opening.hpp"
#include "local/cell_watches.hpp"
#include "local/courier.hpp"
#include "local/line.hpp"

#include <crosslock/hold.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crosslock::inner {

/// Owned by clients, locks and sections; the keeper's threads never own it, so it is destroyed on a
/// thread of the user's, or on one that runs user code for a while. Thread-safe.
class core final : public seam::turn, public std::enable_shared_from_this<core> {
 public:
  /// Connects.
  static std::shared_ptr<core> make(opening_plan plan, seam::clock& clock);
  core(opening_plan plan, seam::clock& clock);
  ~core() override;

  /// The shared line of a name, or, with strict_fifo, one for this acquire alone.
  std::shared_ptr<line> line_for(const seam::name_ref& name);
  std::shared_ptr<line> own_line(const seam::name_ref& name);
  void forget(const line& line) noexcept;
  /// An owner id that lives on in a receipt is not withdrawn when nobody here knows it any more.
  void remember_detached(const seam::claim& claim);

  /// The name with the client's prefix.
  seam::name_ref full_name(std::string_view name) const;
  seam::name_ref given_name(const seam::name_ref& full) const;
  /// What a hold gets that asks for no lease of its own.
  duration lease() const noexcept;
  /// Throws `invalid_lease`.
  wish make_wish(const acquire_how& how, time_point end, seam::wish want = {}) const;
  /// Now plus a wait: saturating. Throws `invalid_lease` for a negative one.
  time_point end_of(duration wait) const;

  /// These three throw `conflict` when the receipt is of another engine, and `lost` where its hold
  /// is no longer there; release says so.
  std::shared_ptr<section> adopt(const receipt& paper);
  duration renew(const receipt& paper, std::optional<duration> lease);
  release_result release(const receipt& paper);
  lock_info look(std::string_view name);
  std::vector<lock_info> list(std::string_view prefix);
  bool break_lock(std::string_view name, const owner_id& owner);

  /// Says which server this is, whatever its URL: random, and written there by the first client
  /// that asked. One round trip, the first time. Throws what agree() throws.
  std::string server_id();

  /// When a request that is made now must be over. Closing has the time of one request in all.
  time_point give_up() const noexcept;
  /// Throws `forked` or `closed`.
  void check_usable() const;
  /// False from the beginning of close() on.
  bool open_for_calls() const noexcept { return !closed_.load(); }
  bool inherited_by_fork() const noexcept { return keeper_->inherited_by_fork(); }
  void close() noexcept;

  /// A thread is about to claim on the server. close() waits until it has done so: it must be able
  /// to take back what it may be granted meanwhile.
  void claim_begins() noexcept { claiming_.fetch_add(1); }
  void claim_ends() noexcept;

  const inner::settings& settings() const noexcept { return settings_; }
  seam::clock& clock() const noexcept { return clock_; }
  seam::engine& engine() const noexcept { return keeper_->engine(); }
  inner::keeper& keeper() const noexcept { return *keeper_; }
  inner::courier& courier() const noexcept { return *courier_; }
  inner::cell_watches& cell_watches() noexcept { return cell_watches_; }
  crosslock::observer* observer() const noexcept { return settings_.observer.get(); }

  // seam::turn
  void answered(seam::claim_key key, const seam::answer& answer) noexcept override;
  void granted(const seam::grant& grant) noexcept override;
  void look_again(seam::claim_key key) noexcept override;
  void wanted(seam::claim_key key) noexcept override;
  void failed(seam::claim_key key, const error& why) noexcept override;
  void cell_changed(const lock_name& name) noexcept override;
  void suspended(const error& why) noexcept override;
  void resumed() noexcept override;

 private:
  std::vector<std::shared_ptr<line>> lines_named(const lock_name& name);
  std::vector<std::shared_ptr<line>> all_lines();
  std::shared_ptr<line> add_line(const seam::name_ref& name, bool common);
  void rouse(const std::vector<seam::park_word*>& words) noexcept;
  void withdraw_unknown(const seam::grant& grant);
  void strip_prefix(lock_info& info) const;
  /// What the receipt speaks of. Throws `conflict` when it is of another engine.
  seam::grant grant_on(const receipt& paper) const;

  const inner::settings settings_;
  seam::clock& clock_;
  std::unique_ptr<inner::courier> courier_;
  inner::cell_watches cell_watches_;

  std::atomic<bool> closed_{false};
  std::atomic<std::uint32_t> claiming_{0};
  seam::park_word claims_ended_{0};
  std::atomic<time_point> closed_by_{time_point::max()};

  std::mutex mutex_;
  std::unordered_multimap<std::string_view, line*> lines_;
  std::map<owner_id, time_point> detached_;  // until their lease must have ended
  std::string server_id_;                    // empty until asked for

  std::unique_ptr<inner::keeper> keeper_;  // last: its engine reports to everything above
};

}  // namespace crosslock::inner
