#include "cli/running/census.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace crosslock::cli {
namespace {

enum class member { no, dead, alive };

/// proc(5): behind the program's name, which stands in parentheses and may contain any, come the
/// state (field 3), the parent, the group; the number of threads is field 20.
member member_of(pid_t group, const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return member::no;
  std::istringstream fields{stat.substr(name_end + 1)};
  char state = '?';
  long parent = 0;
  long own_group = 0;
  fields >> state >> parent >> own_group;
  std::string skipped;
  for (int field = 6; field < 20; ++field) fields >> skipped;
  long threads = 0;
  fields >> threads;
  if (!fields || own_group != group) return member::no;
  // A program whose first thread has gone before the others looks like a zombie, too.
  return (state == 'Z' || state == 'X') && threads <= 1 ? member::dead : member::alive;
}

/// There is at least one: whoever finds none could not look.
bool only_dead_in(pid_t group) {
  bool seen = false;
  for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
    if (each.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    std::ifstream file{each.path() / "stat"};
    std::string text;
    if (!std::getline(file, text)) continue;
    const member found = member_of(group, text);
    if (found == member::alive) return false;
    if (found == member::dead) seen = true;
  }
  return seen;
}

}  // namespace

bool census::anybody_in(pid_t group) noexcept {
  if (kill(-group, 0) != 0 && errno == ESRCH) return false;
  const time_point now = boot_clock::now();
  if (now < next_walk_) return true;
  next_walk_ = now + pause_;
  pause_ = std::min<duration>(2 * pause_, std::chrono::seconds{1});
  try {
    return !only_dead_in(group);
  } catch (const std::exception&) {
    return true;  // where nothing can be seen, the kernel is right
  }
}

}  // namespace crosslock::cli
