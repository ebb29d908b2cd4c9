// Tells what happens in a run: to people (-v), and to programs (--status-fd).
#pragma once

#include <crosslock/hold.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace crosslock::cli {

/// One thread at a time. A reader of the descriptor that goes away is no error.
class narrator {
 public:
  /// `status`: where lines of JSON go, or -1.
  narrator(std::string name, bool verbose, int status);

  void uses(std::string_view shown_url, std::string_view source);
  void waiting();
  void acquired(const hold& held, std::string_view engine, duration lease);
  /// `text` is said in any case.
  void busy(const std::string& text);
  void started(int pid);
  void stopping();
  void ended(int code);
  /// The command has ended, but others are left in its group. Said in any case.
  void leftovers();
  void lost(loss_reason reason);
  void released(release_result result);

 private:
  void tell(const nlohmann::ordered_json& event, const std::string& text);

  const std::string name_;
  const bool verbose_;
  const int status_;
};

}  // namespace crosslock::cli
