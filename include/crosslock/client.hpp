// One connected user of an engine.
#pragma once

#include <crosslock/hold.hpp>
#include <crosslock/inspect.hpp>
#include <crosslock/options.hpp>
#include <crosslock/receipt.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace crosslock {

namespace inner {

class core;

/// The hold belongs to the thread that runs a function under it, until that returns.
class run_mark {
 public:
  explicit run_mark(const hold& held) noexcept;
  ~run_mark();
  run_mark(const run_mark&) = delete;
  run_mark& operator=(const run_mark&) = delete;

 private:
  std::weak_ptr<critical_section> held_;  // the function may give it away
};

}  // namespace inner

/// A handle: copies share one connection. Locks and holds keep it open, so destroying the client
/// while they live changes nothing for them; when the last of them goes, so does the connection.
/// Thread-safe. In a forked child every call that would touch the server throws `forked`; the
/// parent is unaffected.
class client {
 public:
  /// While the hold is valid at most one thread in the whole cluster is in `fn(hold&)` or `fn()`.
  /// Waits for the lock, returns what fn returns, and frees the lock also when fn throws. From
  /// within `fn` of the same name it throws `would_deadlock`.
  template <class Fn>
  decltype(auto) run(std::string_view name, Fn&& fn) const {
    auto held = acquire(name);
    const inner::run_mark mark{held};
    return call(std::forward<Fn>(fn), held);
  }

  /// The same without waiting: an empty optional (for a void fn: false) when the name is busy.
  template <class Fn>
  auto try_run(std::string_view name, Fn&& fn) const {
    auto held = try_acquire(name);
    using result = std::decay_t<decltype(call(std::forward<Fn>(fn), *held))>;
    if constexpr (std::is_void_v<result>) {
      if (!held) return false;
      const inner::run_mark mark{*held};
      call(std::forward<Fn>(fn), *held);
      return true;
    } else {
      if (!held) return std::optional<result>{};
      const inner::run_mark mark{*held};
      return std::optional<result>{call(std::forward<Fn>(fn), *held)};
    }
  }

  /// Who holds the name and who waits, in order. One moment of the past: never decide by it.
  [[nodiscard]] lock_info look(std::string_view name) const;
  /// Every name in use that begins with `prefix`, in the order of their bytes. Names that the
  /// library keeps for itself, such as those of elections, are shown only to who asks for them by a
  /// prefix that begins with `crosslock:{`.
  [[nodiscard]] std::vector<lock_info> list(std::string_view prefix = {}) const;
  /// Frees the name by force if `owner` (from look) still holds it, and tells that holder. False
  /// when it does not hold it any more. The next fence is higher as always.
  bool break_lock(std::string_view name, owner_id owner) const;

  /// Takes a detached hold up again, renewed from now on. Throws `lost` when its lease has ended
  /// or somebody has taken it up before, `conflict` when it is of another engine.
  hold adopt(const receipt& given) const;
  /// Extends the lease of a detached hold, which stays detached: the receipt stays good. Never
  /// shortens it; without `lease` it is the client's own. Returns what the server gave, counted
  /// from before this call. Throws `lost` when the hold is no longer there, `conflict` as adopt.
  duration renew(const receipt& given, std::optional<duration> lease = {}) const;
  /// Gives a detached hold back without taking it up: `released`, or `lost` when it was not there
  /// any more. `unknown`: no answer came to a try that may have been carried out, and since then
  /// none either, or only that it is gone. Throws when nothing can have been carried out, and
  /// `conflict` as adopt.
  release_result release(const receipt& given) const;

  /// Ends every hold (`closed` is their reason) and gives it back, wakes every waiter with
  /// `closed`, and disconnects. Later calls throw `closed`.
  void close() const noexcept;

  std::string_view engine() const noexcept;
  /// The lease a hold gets when none is asked for, as the engine grants it.
  duration lease() const noexcept;

  /// For the library's own use.
  explicit client(std::shared_ptr<inner::core> core) noexcept;
  const std::shared_ptr<inner::core>& core() const noexcept { return core_; }

 private:
  hold acquire(std::string_view name) const;
  [[nodiscard]] std::optional<hold> try_acquire(std::string_view name) const;

  template <class Fn>
  static decltype(auto) call(Fn&& fn, hold& held) {
    if constexpr (std::is_invocable_v<Fn, hold&>) {
      return std::invoke(std::forward<Fn>(fn), held);
    } else {
      return std::invoke(std::forward<Fn>(fn));
    }
  }

  std::shared_ptr<inner::core> core_;
};

/// Connects to the engine the URL names. Retries as options::retry says; throws `invalid_url`,
/// `unsupported` (the engine is not built in or linked), `unreachable`, `denied`, ...
[[nodiscard]] client connect(std::string_view url, options options = {});

/// Connects to CROSSLOCK_URL; without it to the embedded engine (SQLite) at its default place.
[[nodiscard]] client connect(options options = {});

}  // namespace crosslock
