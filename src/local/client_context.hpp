// What the local lines of a client have in common.
#pragma once

#include "keeper/keeper.hpp"
#include "local/callback_runner.hpp"
#include "local/outage.hpp"

#include <atomic>
#include <memory>

namespace crosslock::inner {

class line;

/// The client as its lines see it: settings, clock, keeper, the way to the user's callbacks, and
/// whether it is still open. Sections keep it alive. Thread-safe.
class client_context : public std::enable_shared_from_this<client_context> {
 public:
  virtual ~client_context() = default;
  client_context(const client_context&) = delete;
  client_context& operator=(const client_context&) = delete;

  /// A line has come to its end.
  virtual void forget(const line& line) noexcept = 0;
  /// An owner id that lives on in a receipt is not withdrawn when nobody here knows it any more.
  virtual void remember_detached(const seam::claim& claim) = 0;

  /// Throws `forked` or `closed`.
  void check_usable() const;
  /// False from the beginning of close() on.
  bool open_for_calls() const noexcept { return !closed_.load(); }
  bool inherited_by_fork() const noexcept { return keeper_->inherited_by_fork(); }
  /// When a request that is made now must be over. Closing has the time of one request in all.
  time_point give_up() const noexcept;

  /// A thread is about to claim on the server, or a release is on its way. Closing waits until it
  /// has ended: it must be able to take back what it may be granted meanwhile.
  void claim_begins() noexcept { claiming_.fetch_add(1); }
  void claim_ends() noexcept;

  const inner::settings& settings() const noexcept { return settings_; }
  crosslock::observer* observer() const noexcept { return settings_.observer.get(); }
  seam::clock& clock() const noexcept { return clock_; }
  inner::callback_runner& callback_runner() const noexcept { return *callback_runner_; }
  inner::keeper& keeper() const noexcept { return *keeper_; }
  seam::engine& engine() const noexcept { return keeper_->engine(); }
  /// What the engine offers.
  const seam::traits& about() const noexcept { return engine().about(); }
  /// What a hold gets that asks for no lease of its own.
  duration lease() const noexcept {
    return about().lease_is_session ? about().session : settings_.lease;
  }
  /// Whether unlock() waits for the answer: by choice, or because the engine has no other way.
  bool unlock_waits() const noexcept { return settings_.unlock_waits || !about().posts_releases; }
  /// To observer and log, of a wait that goes on although requests fail; of no failure, that the
  /// server answers again.
  void tell_trouble(const lock_name& name, const outage& trouble) const noexcept;
  owner_id draw_owner() const { return keeper_->draw_owner(); }

  /// As seam::park_unless, for a thread that waits for news from the engine. Whoever changes the
  /// word rouses it.
  template <class Look>
  void await_news_unless(seam::park_word& word, const Look& look) const {
    seam::park_unless(word, look,
                      [this](seam::park_word& at, std::uint32_t seen, time_point until) {
                        engine().await_news(clock_, at, seen, until);
                      });
  }
  void rouse(seam::park_word& word) const noexcept { engine().rouse(clock_, word); }

 protected:
  client_context(inner::settings settings, seam::clock& clock);

  /// From here on there is a keeper. Before everything that the engine reports to is destroyed
  /// comes disconnect().
  void connect(std::unique_ptr<seam::engine> engine);
  void disconnect() noexcept { keeper_.reset(); }
  /// Refuses further calls. False when that was done before.
  bool begin_closing() noexcept;
  /// Waits for the claims that are on their way, and disconnects.
  void finish_closing() noexcept;
  /// In a forked child: closes file descriptors. The threads of all the rest are the parent's.
  void abandon() noexcept;

 private:
  const inner::settings settings_;
  seam::clock& clock_;
  std::unique_ptr<inner::callback_runner> callback_runner_;

  std::atomic<bool> closed_{false};
  std::atomic<time_point> closed_by_{time_point::max()};
  std::atomic<std::uint32_t> claiming_{0};
  seam::park_word claims_ended_{0};

  std::unique_ptr<inner::keeper> keeper_;
};

}  // namespace crosslock::inner
