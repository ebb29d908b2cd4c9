// One client: its connection, its table of local lines, and the way of the engine's reports.
#pragma once

#include "client/cell_watches.hpp"
#include "client/opening.hpp"
#include "engine/guarded.hpp"
#include "local/client_context.hpp"
#include "local/line.hpp"

#include <crosslock/hold.hpp>

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace crosslock::inner {

/// Owned by clients, locks and critical sections; the keeper's threads never own it, so it is
/// destroyed on a thread of the user's, or on one that runs user code for a while. Thread-safe.
class core final : public client_context, public seam::engine_events {
 public:
  /// Connects.
  static std::shared_ptr<core> make(opening_plan plan, seam::clock& clock);
  ~core() override;

  /// The shared line of a name, or, with strict_fifo, one for this acquire alone.
  std::shared_ptr<line> line_for(const seam::name_ref& name);
  std::shared_ptr<line> own_line(const seam::name_ref& name);
  /// Throws `would_deadlock` when the thread that would wait without end holds the name itself.
  void refuse_own_thread(const lock_name& name, const acquire_request& request);
  void forget(const line& line) noexcept override;
  void remember_detached(const seam::claim& claim) override;

  /// The name with the client's prefix.
  seam::name_ref full_name(std::string_view name) const;
  seam::name_ref given_name(const seam::name_ref& full) const;
  /// Throws `invalid_lease`.
  acquire_request make_request(const acquire_how& how, time_point end,
                               seam::demand demand = {}) const;
  /// Now plus a wait: saturating. Zero or less, as for the standard's timed calls: no wait at all.
  time_point end_of(duration wait) const;

  lock_info look(std::string_view name);
  std::vector<lock_info> list(std::string_view prefix);
  bool break_lock(std::string_view name, const owner_id& owner);

  /// What agreement.hpp has found out about the server; empty until then.
  std::string known_server_id();
  void note_server_id(std::string id);

  void close() noexcept;

  inner::cell_watches& cell_watches() noexcept { return cell_watches_; }

  // seam::engine_events
  void answered(const seam::claim& claim, const seam::answer& answer) noexcept override;
  void granted(const seam::grant& grant) noexcept override;
  void look_again(seam::claim_key key) noexcept override;
  void wanted(seam::claim_key key) noexcept override;
  void failed(seam::claim_key key, const error& why) noexcept override;
  void cell_changed(const lock_name& name) noexcept override;
  void session_cut() noexcept override;
  void suspended(const error& why) noexcept override;
  void resumed() noexcept override;

 private:
  core(opening_plan plan, seam::clock& clock);
  /// Keeps it alive for the time of an event. Null when it ends, or has no owner yet: its engine
  /// has a thread that reports before anybody has asked for anything.
  std::shared_ptr<client_context> alive() noexcept;
  /// Lines of one name in the order in which they came.
  struct line_key {
    std::string_view name;
    std::uint64_t number = 0;
    friend auto operator<=>(const line_key&, const line_key&) = default;
  };
  struct known_line {
    std::shared_ptr<line> at;
    std::uint64_t number = 0;
  };
  known_line next_line(const line_key& behind, bool of_that_name);
  /// Until one says true: then this does. Needs no memory: what the engine reports must arrive.
  template <class Visit>
  bool visit_lines(const lock_name& name, const Visit& visit);
  std::shared_ptr<line> add_line(const seam::name_ref& name, bool common)
      CROSSLOCK_REQUIRES(mutex_);
  void rouse_all(const std::vector<seam::park_word*>& words) noexcept;
  void withdraw_unknown(const seam::claim& claim);
  void strip_prefix(lock_info& info) const;

  std::atomic<bool> owned_{false};
  inner::cell_watches cell_watches_;

  seam::mutex mutex_;
  std::map<line_key, line*> lines_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t line_numbers_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  // Until their lease must have ended.
  std::map<owner_id, time_point> detached_ CROSSLOCK_GUARDED_BY(mutex_);
  std::string server_id_ CROSSLOCK_GUARDED_BY(mutex_);
};

}  // namespace crosslock::inner
