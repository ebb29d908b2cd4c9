// One leader, whom everybody can ask for and watch.
#pragma once

#include <crosslock/async.hpp>
#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>
#include <crosslock/wait.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace crosslock {

namespace inner {
struct office;
}  // namespace inner

/// Who leads: what it has proclaimed last, and the fence of its term.
struct leader_info {
  std::string value;
  crosslock::fence fence;
};

/// One term in office: an exclusive hold, and a value that others see. Destruction resigns. One
/// thread at a time may use it; the stop_token it gives out may be used anywhere.
///
/// | state | valid() | lost() | proclaim() | resign() |
/// |---|---|---|---|---|
/// | leads | true | not requested | others see the new value | `released` |
/// | lost | false | requested | throws `lost` | `lost`, nothing changes |
/// | resigned, moved from | false | never requested | throws `not_held` | `not_held` |
class [[nodiscard]] leadership {
 public:
  leadership(leadership&& other) noexcept;
  leadership& operator=(leadership&& other) noexcept;  ///< resigns what it had
  leadership(const leadership&) = delete;
  leadership& operator=(const leadership&) = delete;
  ~leadership();

  [[nodiscard]] crosslock::fence fence() const noexcept { return held_.fence(); }
  [[nodiscard]] bool valid() const noexcept { return held_.valid(); }
  [[nodiscard]] std::stop_token lost() const { return held_.lost(); }
  [[nodiscard]] loss_reason lost_reason() const noexcept { return held_.lost_reason(); }
  [[nodiscard]] time_point expires_at() const noexcept { return held_.expires_at(); }
  /// Requested when another candidate waits: see hold::wanted.
  [[nodiscard]] std::stop_token wanted() const { return held_.wanted(); }
  /// Throws `lost` or `not_held` unless valid().
  void check() const { held_.check(); }
  /// As hold::extend.
  time_point extend(std::optional<duration> lease = std::nullopt) { return held_.extend(lease); }
  /// The hold behind it, for a fenced_register for example.
  const hold& held() const noexcept { return held_; }

  /// Replaces the value, unless a newer leader has been here: then it throws `lost`.
  void proclaim(const std::string& value);
  release_result resign() noexcept { return held_.release(); }

  /// For the library's own use.
  leadership(hold held, std::shared_ptr<const inner::office> office) noexcept;

 private:
  hold held_;
  std::shared_ptr<const inner::office> office_;
};

/// What a callback is given: a leadership; or neither, when stopped or out of time; or a failure.
struct campaign_result {
  std::optional<crosslock::leadership> leadership;
  std::exception_ptr failure;
};

using campaign_callback = std::function<void(campaign_result)>;

namespace inner {

template <>
struct acquire_plan<leadership> {
  std::shared_ptr<const inner::office> office{};
  std::string value{};
  acquire_how how{};
  std::optional<duration> wait{};
  continuation_executor executor{};

  void start(std::function<void(acquire_outcome<leadership>)> done);
};

}  // namespace inner

/// At most one leads at a time, as far as leases can promise it; the fence keeps a former leader's
/// late writes apart in any case. Candidates are served in the order in which they come. Of its own
/// kind: a mutex or value of the same name has nothing to do with it. Thread-safe. Throws
/// `unsupported` where the engine stores no values.
class election {
 public:
  election(const client& locks, std::string_view name);
  election(const client& locks, lock_name name);
  election(const election&) = delete;
  election& operator=(const election&) = delete;
  ~election();

  /// Waits until it leads, and `value` is there for others to see.
  leadership campaign(const std::string& value, const acquire_how& how = {});
  /// Empty when stopped. A template, so that campaign(value, {}) is the form above.
  template <std::same_as<std::stop_token> Stop>
  [[nodiscard]] std::optional<leadership> campaign(const std::string& value, Stop stop) {
    return campaign_within(duration::max(), value, {.lease = {}, .stop = std::move(stop)});
  }
  /// Empty when somebody else leads, or stopped, or out of time.
  [[nodiscard]] std::optional<leadership> try_campaign(const std::string& value,
                                                       const acquire_how& how = {}) {
    return campaign_within(duration::zero(), value, how);
  }
  template <class Rep, class Period>
  [[nodiscard]] std::optional<leadership> campaign_for(
      const std::string& value, const std::chrono::duration<Rep, Period>& wait,
      const acquire_how& how = {}) {
    return campaign_within(wait_time(wait), value, how);
  }
  /// Waits at most `wait`; the term then ends after `lease` at the latest and is not renewed.
  template <class Rep, class Period, class Rep2, class Period2>
  [[nodiscard]] std::optional<leadership> campaign_for(
      const std::string& value, const std::chrono::duration<Rep, Period>& wait,
      const std::chrono::duration<Rep2, Period2>& lease, std::stop_token stop = {}) {
    return campaign_within(wait_time(wait), value,
                           {.lease = wait_time(lease), .stop = std::move(stop)});
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<leadership> campaign_until(
      const std::string& value, const std::chrono::time_point<Clock, Duration>& end,
      const acquire_how& how = {}) {
    return campaign_within(time_left(end), value, how);
  }
  /// Never blocks the caller. `done` is called exactly once, by options::executor, which also makes
  /// the requests that store the value.
  void campaign_async(std::string value, campaign_callback done, const acquire_how& how = {},
                      std::optional<duration> wait = std::nullopt);
  /// The same, to be begun by a callback, a future or co_await: see async.hpp. The value is stored
  /// where options::executor says, whatever resume_on says of the continuation.
  acquisition<leadership> async_campaign(std::string value, acquire_how how = {},
                                         std::optional<duration> wait = std::nullopt);

  /// Who leads now. Empty when nobody does, or a new leader has not proclaimed anything yet. One
  /// that has died is seen until its lease ends, and not longer.
  [[nodiscard]] std::optional<leader_info> leader() const;

  /// Calls fn, on this thread, for who leads now and then for every new leader and every new value,
  /// until stopped. A term that is over before it could be seen is left out, and so are values that
  /// were replaced at once; an older term never comes after a newer one. What fn throws is thrown
  /// on.
  ///
  /// An fn that takes a `const std::optional<leader_info>&` is also told, by an empty one, when
  /// nobody leads: now, or any more. For that it looks every options::look_every, and a leader that
  /// has died leads until its lease ends.
  template <class Fn>
  void observe(std::stop_token stop, Fn&& fn) const {
    if constexpr (std::is_invocable_v<Fn&, const std::optional<leader_info>&>) {
      observe_terms(std::move(stop), std::ref(fn), true);
    } else {
      observe_terms(
          std::move(stop), [&fn](const std::optional<leader_info>& now) { std::invoke(fn, *now); },
          false);
    }
  }

  /// Removes what is stored of it, for an election that nobody needs any more. False, and nothing
  /// done, while somebody leads or is a candidate; who becomes one at that moment waits for it.
  [[nodiscard]] bool erase();

  const lock_name& name() const noexcept;

 private:
  void observe_terms(std::stop_token stop,
                     const std::function<void(const std::optional<leader_info>&)>& fn,
                     bool vacancies) const;
  std::optional<leadership> campaign_within(duration wait, const std::string& value,
                                            const acquire_how& how);

  std::shared_ptr<const inner::office> office_;
};

}  // namespace crosslock
