// How a program listens to what its locks do.
#pragma once

#include <crosslock/error.hpp>
#include <crosslock/fence.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/time.hpp>

#include <string_view>

namespace crosslock {

/// How a hold came about.
enum class acquire_cause {
  asked,      ///< the first request to the server was granted
  passed,     ///< another thread of this process handed it over, without the network
  pushed,     ///< the server's wake-up brought the grant
  refreshed,  ///< the periodic look found it granted (no wake-up had come)
  looked,     ///< a wake-up said "look again", and the look found it granted
  joined,     ///< it shares the grant of another reader of this process, without the network
};

/// Why a hold ended without its own release.
enum class loss_reason {
  none,         ///< it has not been lost
  expired,      ///< no renewal succeeded in time
  gone,         ///< the server no longer knows the grant, or has given the name to another
  broken,       ///< somebody broke the lock by force
  lease_ended,  ///< its fixed lease came to its end
  max_hold,     ///< it was held longer than `options::max_hold`
  closed,       ///< the client was closed
};

/// What `release` found.
enum class release_result {
  released,   ///< it was ours and is free, or with the next in line
  passed,     ///< it was ours and went to the next thread of this process
  lost,       ///< it had been lost before
  detached,   ///< it goes on as a receipt (only told to the observer)
  not_held,   ///< there was nothing to release
  not_owner,  ///< the calling thread does not hold it (recursive_mutex)
  unknown,    ///< no answer; the release goes on in the background until the lease ends
};

std::string_view to_string(acquire_cause cause) noexcept;
std::string_view to_string(loss_reason reason) noexcept;
std::string_view to_string(release_result result) noexcept;

/// Override what you want to hear. Calls come from the thread where the event happens, sometimes
/// from the library's own: be quick, and do not call back into crosslock. What an override throws
/// is dropped. Without an observer the library makes no call and no allocation for it.
class observer {
 public:
  struct acquired_event {
    std::string_view name;
    owner_id owner;
    crosslock::fence fence;
    acquire_cause cause;
    duration waited;
    time_point deadline;
  };
  struct lost_event {
    std::string_view name;
    owner_id owner;
    crosslock::fence fence;
    loss_reason reason;
    time_point deadline;
  };
  struct released_event {
    std::string_view name;
    owner_id owner;
    crosslock::fence fence;
    release_result result;
    duration held;
  };
  enum class renew_result { renewed, lost, unknown };
  /// How a wait without a hold ended.
  enum class wait_result { busy, timed_out, cancelled, failed };
  /// One request to the server and its answer, by the verb of the seam. Asynchronous asks are
  /// not counted.
  enum class verb {
    ask,
    withdraw,
    renew,
    release,
    adopt,
    break_lock,
    look,
    read_cell,
    swap_cell,
    open_cell,
  };

  virtual ~observer() = default;
  virtual void acquired(const acquired_event&) {}
  virtual void waited(std::string_view /*name*/, wait_result, duration) {}
  virtual void renewed(std::string_view /*name*/, crosslock::fence, renew_result) {}
  virtual void lost(const lost_event&) {}
  virtual void released(const released_event&) {}
  /// A fenced_register, or the cell behind it, refused a write or an opening: `highest` was here.
  virtual void fence_rejected(std::string_view /*name*/, crosslock::fence /*shown*/,
                              crosslock::fence /*highest*/) {}
  /// On engines with sessions: the connection is lost. What is held stays valid until its deadline,
  /// and goes on if `resumed` comes before; after it, each hold is told as lost.
  virtual void suspended(const error&) {}
  /// Connected (again). With the same session if nothing was told as lost meanwhile.
  virtual void resumed() {}
  virtual void engine_up() {}
  virtual void engine_down(const error&) {}
  virtual void round_trip(verb, duration) {}
};

}  // namespace crosslock
