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

/// proc(5): behind the program's name, which stands in parentheses and may contain any, come the
/// state (field 3), the parent, the group; the number of threads is field 20.
bool lives_in(pid_t group, const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields{stat.substr(name_end + 1)};
  char state = '?';
  long parent = 0;
  long own_group = 0;
  fields >> state >> parent >> own_group;
  std::string skipped;
  for (int field = 6; field < 20; ++field) fields >> skipped;
  long threads = 0;
  fields >> threads;
  // A program whose first thread has gone before the others looks like a zombie, too.
  return own_group == group && ((state != 'Z' && state != 'X') || threads > 1);
}

bool walk(pid_t group) {
  for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
    if (each.path().filename().string().find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    std::ifstream file{each.path() / "stat"};
    std::string text;
    if (std::getline(file, text) && lives_in(group, text)) return true;
  }
  return false;
}

}  // namespace

bool census::anybody_in(pid_t group) noexcept {
  if (kill(-group, 0) != 0 && errno == ESRCH) return false;
  const time_point now = boot_clock::now();
  if (now < next_walk_) return true;
  next_walk_ = now + pause_;
  pause_ = std::min<duration>(2 * pause_, std::chrono::seconds{1});
  try {
    return walk(group);
  } catch (const std::exception&) {
    return true;  // where nothing can be seen, the kernel is right
  }
}

}  // namespace crosslock::cli
