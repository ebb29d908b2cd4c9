// What happened in a run: one event for every call, answer, notice and fault.
//
// All processes of a run share one host, so CLOCK_BOOTTIME is one exact clock for all of them; a
// simulation uses its virtual time. On disk a history is JSON lines, one file per process.
#pragma once

#include <crosslock/inspect.hpp>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::checker {

/// inv, then one of ok, fail, info (outcome unknown); the others stand alone.
enum class phase {
  inv,
  ok,
  fail,
  info,
  queued,     ///< the server has put the claim in line
  lost,       ///< the holder was told that its grant is over
  cs_in,      ///< the critical section begins ...
  cs_out,     ///< ... and ends: for the reader of a report only
  fence_ok,   ///< the protected resource took a write with this token
  fence_rej,  ///< it refused one
  shown,      ///< the server's own state, looked at between `sent` and `t`: this token holds
  nemesis,    ///< a fault was injected, or taken back
};

enum class action {
  none,
  acq,
  reenter,    ///< an acquire by who already holds it: keeps its token, is no new grant
  withdraw,   ///< gives up a claim whose outcome is unknown
  rel,        ///< the last release of a re-entered hold only
  renew,      ///< `ok` only when the deadline of the hold was moved by it
  downgrade,  ///< an exclusive hold becomes a shared one and keeps its token
  write,      ///< to the protected resource
  final,      ///< the value that the resource has at the end
};

/// Those in the second line can make two holders, whom only the fence keeps apart.
enum class fault {
  none,
  kill,
  pause,
  thaw,
  stutter,  ///< a pause of milliseconds, one of many: no excuse for a late notice or wake-up
  steady,   ///< the end of one
  stall,    ///< from `sent` until `t` its processor was somebody else's, by its own account
  server_down,
  server_up,
  partition,
  heal,
  other,
  state_loss,
  rollback,
  clock_step,
  admin_delete,
};

/// Times are nanoseconds. Zero stands for "not known" in token, deadline, sent and lease.
struct event {
  static constexpr std::int32_t nobody = -1;

  std::int64_t t = 0;
  std::int32_t proc = nobody;  ///< of a nemesis: the victim; nobody: everyone
  std::int32_t thr = 0;
  phase ph = phase::inv;
  action f = action::none;
  std::string lock;  ///< of a nemesis: the only lock it concerns; empty: all
  claim_mode mode = claim_mode::exclusive;
  std::int32_t permits = 1;  ///< permit claims: how many ...
  std::int32_t of = 1;       ///< ... of how many
  std::string req;           ///< one for each claim, kept over retries, release, renewal and loss
  std::int64_t token = 0;
  std::int64_t deadline = 0;            ///< D: the holder believes until then; unknown: without end
  std::int64_t sent = 0;                ///< when the request left that the deadline counts from
  std::int64_t lease = 0;               ///< what the server gave, from `sent`
  std::optional<std::int64_t> value{};  ///< written to the resource, or there at the end
  fault kind = fault::none;
  std::string err;

  friend bool operator==(const event&, const event&) = default;
};

using history = std::vector<event>;

/// In `err` of a release that was answered ok: it went to another thread of the same process.
inline constexpr std::string_view passed_on = "passed";

std::string_view to_string(phase ph) noexcept;
std::string_view to_string(action f) noexcept;
std::string_view to_string(fault kind) noexcept;

/// One line of JSON without the line end. Bytes that are no UTF-8 survive as \udcXX, as Python's
/// surrogateescape writes them.
std::string to_json(const event& e);
/// Throws std::runtime_error saying what is wrong and at which byte.
event from_json(std::string_view line);

void write_jsonl(std::ostream& out, const history& events);
/// A last line without its end is what a killed process leaves: ignored. Any other bad line throws.
history read_jsonl(std::istream& in, const std::string& called = "history");
history read_file(const std::filesystem::path& path);

/// One history out of several, by time; events of equal time keep their order.
history merge(std::vector<history> parts);

}  // namespace crosslock::checker
