// The place where a conformance case plays: one server of one engine, time, threads, and processes
// that can be killed, frozen and cut off. A new engine implements this and gets every case.
//
// What an engine does not promise is said by its traits, how long things may take by `bounds`, and
// what the place itself cannot do by the fixture (fixture.hpp). No case knows the engine's name.
#pragma once

#include "checker/invariants.hpp"
#include "checker/recorder.hpp"
#include "engine/clock.hpp"
#include "engine/engine.hpp"

#include <crosslock/client.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::conformance {

/// How long things take on this engine, faults included. Each case asserts one of these.
struct bounds {
  duration lease;         ///< a short lease, for holds that shall end
  duration steady_lease;  ///< one that renewals keep, however busy the machine is
  duration wake_up;       ///< from a release until the waiter is in
  duration look;          ///< the same when every wake-up is lost
  duration after_lease;   ///< from the end of a dead holder's lease until the next is in
  /// From a holder's death until the next is in; empty where nobody sees it before its lease ends.
  std::optional<duration> dead_holder;
  duration long_while;  ///< many leases, as long as this place can afford
};

/// What the lock protects: numbers by name, each of which refuses an older fence. Shared by all
/// processes of the stage.
class resource {
 public:
  virtual ~resource() = default;
  /// False when a newer fence was here.
  virtual bool write(const std::string& name, fence token, std::int64_t value) = 0;
  virtual std::int64_t read(const std::string& name) = 0;
};

/// Another process with a client of its own. It does what it is told, one command after another;
/// the commands are those of performer.hpp. Its end is an orderly one unless it was killed.
class actor {
 public:
  virtual ~actor() = default;

  virtual void send(const std::string& command) = 0;
  /// The answer to the oldest command that has not been answered; "dead" after a kill.
  virtual std::string answer() = 0;
  virtual bool has_answered() = 0;
  std::string say(const std::string& command) {
    send(command);
    return answer();
  }

  virtual void kill() = 0;    ///< kill -9
  virtual void freeze() = 0;  ///< SIGSTOP; its connections stay up
  virtual void thaw() = 0;
  virtual void cut_off() = 0;  ///< what it sends, and what is sent to it, vanishes
  virtual void heal() = 0;
  virtual void slow_down() = 0;  ///< it gets the processor late and seldom, for good

  /// Under which number it stands in the history.
  virtual std::int32_t number() const = 0;
};

class stage {
 public:
  virtual ~stage() = default;

  virtual const seam::traits& traits() const = 0;
  virtual conformance::bounds bounds() const = 0;
  /// How long a waiter of that lease may keep the name from the next when it is frozen or cut off
  /// as its turn comes: the offer.
  virtual duration frozen_waiter_bound(duration lease) const = 0;

  /// Runs a case. Everything below is called from within.
  virtual void run(const std::function<void()>& body) = 0;
  virtual seam::clock& clock() = 0;
  time_point now() { return clock().now(); }
  virtual void sleep(duration length) = 0;

  /// A client in the case's own process. Every call makes a connection of its own.
  client connect(options how = {}) {
    how.unlock_waits = how.unlock_waits || unlocks_wait_;
    return open(std::move(how));
  }
  /// Most cases look, with another client, at what an unlock has done: then it must have been done.
  /// In the processes of a case nobody ever waits for it.
  void let_unlocks_wait(bool wait) noexcept { unlocks_wait_ = wait; }
  virtual std::unique_ptr<actor> start_process(const std::string& name, duration lease) = 0;

  // The server.
  virtual void restart_server() = 0;  ///< keeps what a crash of its process keeps
  virtual void drop_wake_ups(bool drop) = 0;
  virtual void lose_next_answer(observer::verb to) = 0;
  virtual void delay_next_request(observer::verb what, duration by) = 0;
  /// Until that request is on its way; where time is exact it is known when that is.
  virtual void await_delayed_request(observer::verb /*what*/, duration usually_after) {
    sleep(usually_after);
  }
  /// By the server's own counter: how many requests it has carried out.
  virtual std::uint64_t requests() = 0;
  /// What the server still stores beside fences: must be nothing when a case is over.
  virtual std::vector<std::string> leftovers() = 0;

  virtual conformance::resource& resource() = 0;
  /// The case's own recorder; what the other processes recorded is in history().
  virtual checker::recorder& book() = 0;
  virtual checker::history history() { return book().events(); }
  /// How exact the record is; a case adds what it wants judged.
  virtual checker::check_options strictness() const = 0;

 protected:
  virtual client open(options how) = 0;

 private:
  bool unlocks_wait_ = false;
};

}  // namespace crosslock::conformance
