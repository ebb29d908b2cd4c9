#include "cli/running/narrator.hpp"

#include "cli/say.hpp"
#include "cli/times.hpp"

#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

namespace crosslock::cli {
narrator::narrator(std::string name, bool verbose, int status)
    : name_{std::move(name)}, verbose_{verbose}, status_{status} {}

void narrator::uses(std::string_view shown_url, std::string_view source) {
  if (verbose_) {
    complain("locks are kept in " + std::string{shown_url} + " (" + std::string{source} + ")");
  }
}

void narrator::waiting() {
  tell({{"event", "waiting"}, {"name", name_}}, "asks for '" + name_ + "'");
}

void narrator::acquired(const hold& held, std::string_view engine, duration lease) {
  tell({{"event", "acquired"},
        {"name", name_},
        {"fence", held.fence().to_string()},
        {"owner_id", held.owner().to_string()},
        {"engine", engine},
        {"mode", mode_word(held.mode())},
        {"lease_ms", lease / std::chrono::milliseconds{1}}},
       "holds '" + name_ + "', fence " + held.fence().to_string() + ", lease " + show_time(lease));
}

void narrator::busy(const std::string& text) {
  tell({{"event", "busy"}, {"name", name_}}, "'" + name_ + "' is busy");
  if (!text.empty()) complain(text);
}

void narrator::started(int pid) {
  tell({{"event", "started"}, {"pid", pid}}, "the command runs as process " + std::to_string(pid));
}

void narrator::stopping() {
  tell({{"event", "stopping"}}, "the lock is lost or about to be: the command is told to stop");
}

void narrator::ended(int code) {
  tell({{"event", "ended"}, {"code", code}}, "the command has ended with " + std::to_string(code));
}

void narrator::leftovers() {
  tell({{"event", "leftovers"}}, {});
  complain("the command has ended, but what it started still runs: '" + name_ +
           "' is held until that ends, too");
}

void narrator::lost(loss_reason reason) {
  tell({{"event", "lost"}, {"name", name_}, {"reason", to_string(reason)}}, {});
}

void narrator::released(release_result result) {
  tell({{"event", "released"}, {"name", name_}, {"result", to_string(result)}},
       "'" + name_ + "': " + std::string{to_string(result)});
}

void narrator::tell(const nlohmann::ordered_json& event, const std::string& text) {
  if (verbose_ && !text.empty()) complain(text);
  if (status_ < 0) return;
  std::ostringstream line;
  print_line(line, event);
  const std::string bytes = line.str();
  // In one piece: short enough for a pipe not to mix it with what others write.
  if (::write(status_, bytes.data(), bytes.size()) < 0) return;
}

}  // namespace crosslock::cli
