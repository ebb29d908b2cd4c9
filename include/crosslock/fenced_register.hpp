// A value that refuses an older fence.
#pragma once

#include <crosslock/client.hpp>
#include <crosslock/hold.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crosslock {

/// A small value, kept by the server, that remembers the highest fence it was shown: what a former
/// holder of the lock writes late is refused, and nothing of it remains. Any bytes, up to 1 MiB. It
/// may have the name of the lock that protects it, or another; but all its fences must come from
/// exclusive holds of one lock. Thread-safe.
///
/// | the fence shown is | open() | write() | erase() |
/// |---|---|---|---|
/// | the highest so far, or higher | the value; lower ones are refused from now on | true | true |
/// | lower than the highest | empty; observer hears `fence_rejected` | false; the same | the same |
///
/// Open before you compute from the value: from then on it cannot change under you, except by your
/// own fence. A fence is judged by its number, and not by whether its hold is still valid: a write
/// of a hold that was lost is accepted until somebody newer has been here.
///
/// A write whose answer was lost is repeated under the same id. If the value has been written again
/// in between, the call throws with `outcome_unknown()`. A hold that is not exclusive (now), and a
/// fence of zero, throw `conflict`: readers' fences say nothing about their order.
///
/// What is erased is forgotten as a whole, the highest fence too: afterwards a former holder's late
/// write is the first of a new register. So erase what is over for all of them; where somebody may
/// still write late, write an empty value instead, which keeps the fence.
class fenced_register {
 public:
  struct reading {
    std::string value;
    crosslock::fence fence;  ///< the highest so far
  };

  /// Throws `unsupported` where the engine stores no values.
  fenced_register(const client& locks, std::string_view name);
  fenced_register(const client& locks, lock_name name);
  fenced_register(const fenced_register&) = delete;
  fenced_register& operator=(const fenced_register&) = delete;
  ~fenced_register();

  /// The value as it is now; empty when a newer fence was here.
  [[nodiscard]] std::optional<std::string> open(const hold& held);
  [[nodiscard]] std::optional<std::string> open(crosslock::fence token);
  /// False, and nothing changed, when a newer fence was here.
  [[nodiscard]] bool write(const hold& held, const std::string& value);
  [[nodiscard]] bool write(crosslock::fence token, const std::string& value);
  /// Removes it from the server. False, and nothing changed, when a newer fence was here.
  [[nodiscard]] bool erase(const hold& held);
  [[nodiscard]] bool erase(crosslock::fence token);
  /// Needs no fence, and decides nothing.
  [[nodiscard]] reading read() const;

  const lock_name& name() const noexcept;

 private:
  struct state;

  std::unique_ptr<state> state_;
};

}  // namespace crosslock
