// How a test writes its history.
//
//   recorder book{"p3.jsonl"};                            // or recorder book; kept in memory only
//   auto claim = book.asks(clock.now(), {.proc = 3, .lock = "stock"});
//   ... lock ...
//   claim.granted(clock.now(), {.token = h.fence(), .deadline = h.expires_at()});
//   ... claim.lost(now) from the loss callback; claim.wrote(now, value); ...
//   claim.releases(clock.now());
//   ... unlock ...
//   claim.released(clock.now());
//
// Three rules make a verdict sound: take the time of an invocation before the call and that of an
// answer after it; never use a proc number again after a kill; and after an unknown outcome either
// ask again through the same claim, or go on under another thr number (new_thread()).
#pragma once

#include "checker/history.hpp"

#include <crosslock/fence.hpp>
#include <crosslock/time.hpp>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace crosslock::checker {

class recorder;

/// Who asks for what.
struct asker {
  std::int32_t proc = 0;
  std::int32_t thr = 0;
  std::string lock;
  claim_mode mode = claim_mode::exclusive;
  std::int32_t permits = 1;
  std::int32_t of = 1;
  std::string req{};  ///< the owner id, if the test knows it; drawn otherwise
};

/// What came with a grant or a renewal. What the test cannot know stays zero.
struct terms {
  crosslock::fence token{};  ///< grants only
  time_point deadline{};
  time_point sent{};
  duration lease{};
};

/// The story of one claim, from the request to its end. A small value. The notice of loss may come
/// from another thread than the rest.
class claim_record {
 public:
  void asks_again(time_point t) const;  ///< the same claim, after an unknown outcome
  void queued(time_point t) const;
  void granted(time_point t, const terms& given);
  void refused(time_point t, std::string_view why) const;  ///< busy, timed out, stopped
  /// `token`: what the server gave in truth, if the test has looked.
  void unknown(time_point t, std::string_view why, crosslock::fence token = {}) const;
  void withdraws(time_point t) const;
  void withdrawn(time_point t) const;

  void reenters(time_point t) const;
  void reentered(time_point t, crosslock::fence token) const;

  void renews(time_point t) const;
  void renewed(time_point t, const terms& given) const;
  void renew_refused(time_point t, std::string_view why) const;
  void renew_unknown(time_point t, std::string_view why) const;

  /// An exclusive hold that becomes a shared one: others may share it from the call on.
  void downgrades(time_point t) const;
  void downgraded(time_point t) const;

  void lost(time_point t, std::string_view why = {}) const;

  void releases(time_point t) const;
  void released(time_point t) const;
  void passed(time_point t) const;  ///< released to another thread of the process
  void release_refused(time_point t, std::string_view why) const;
  void release_unknown(time_point t, std::string_view why) const;

  void enters(time_point t) const;  ///< the critical section
  void leaves(time_point t) const;

  /// A write to the protected resource. A resource that records under its own mutex needs no
  /// writes(): then wrote() and write_refused() stand in its order.
  void writes(time_point t) const;
  void wrote(time_point t, std::int64_t value) const;
  void write_refused(time_point t) const;
  void write_unknown(time_point t) const;
  /// A write that was done without showing the token.
  void wrote_unfenced(time_point t, std::int64_t value) const;

  crosslock::fence token() const noexcept { return crosslock::fence{about_.token}; }
  const std::string& req() const noexcept { return about_.req; }

 private:
  friend class recorder;
  claim_record(recorder& book, event about) : book_{&book}, about_{std::move(about)} {}
  event stamped(time_point t, phase ph, action f, std::string_view why = {}) const;
  void put(time_point t, phase ph, action f, std::string_view why = {}) const;

  recorder* book_;
  event about_;
};

/// Thread-safe. With a file, every event is written through before record() returns, so that
/// kill -9 loses nothing that happened before.
class recorder {
 public:
  recorder() = default;
  explicit recorder(const std::filesystem::path& file);
  ~recorder();
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// Records the invocation of an acquire.
  claim_record asks(time_point t, const asker& who);
  /// For attempts to release or renew with stolen receipts: nothing is recorded yet.
  claim_record pretends(const asker& who, crosslock::fence token);

  /// `proc`: the victim; `lock`: the only lock concerned.
  void nemesis(time_point t, fault kind, std::int32_t proc = event::nobody,
               std::string_view lock = {}, std::string_view what = {});
  /// A process that wanted to run got no processor meanwhile.
  void stalled(time_point from, time_point to, std::int32_t proc);
  /// The server's own state, asked for at `sent` and answered at `t`: whose first fence that is
  /// holds `lock`; zero: nobody.
  void shown(time_point sent, time_point t, std::string_view lock, crosslock::fence holder);
  /// What the resource behind `lock` holds when all is over.
  void final_value(time_point t, std::string_view lock, std::int64_t value);
  void record(event e);

  std::int32_t new_thread() noexcept { return next_thread_++; }
  /// Ordered by time.
  history events() const;

 private:
  int file_ = -1;
  std::atomic<std::int32_t> next_thread_{1000};
  std::atomic<std::uint64_t> next_req_{1};
  mutable std::mutex mutex_;
  history events_;  // guarded by mutex_
};

}  // namespace crosslock::checker
