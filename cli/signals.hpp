// The signals this program gets, as something to wait for beside other things.
#pragma once

#include "cli/descriptor.hpp"

#include <csignal>
#include <optional>
#include <string_view>

namespace crosslock::cli {

/// Makes and keeps TERM, INT, HUP, QUIT, USR1, USR2, CONT and CHLD wait in a descriptor. Those that
/// were ignored when the program was started (nohup, a background job) stay ignored. One at a time
/// per process; made on the main thread when all other threads block signals.
class signal_inbox {
 public:
  signal_inbox();
  signal_inbox(const signal_inbox&) = delete;
  signal_inbox& operator=(const signal_inbox&) = delete;

  /// Readable when a signal has come.
  int descriptor() const noexcept { return arrivals_.get(); }
  /// The next one, without waiting.
  std::optional<int> next();
  /// From now on signals do what they did before; those not read yet do so at once.
  void let_through() noexcept;

 private:
  sigset_t before_{};
  cli::descriptor arrivals_;
};

/// Whether the signal asks to end what is being waited for: not CHLD and CONT.
bool ends_a_wait(int signal) noexcept;

/// `term`, `TERM`, `SIGTERM`, `15`; 0 for what is no signal that can be sent to a process.
int signal_number(std::string_view text) noexcept;

/// Ends this process as the signal would have done.
[[noreturn]] void die_of(int signal);

}  // namespace crosslock::cli
