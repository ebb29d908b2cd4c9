// /proc, read plainly.
#include "engines/sqlite/process.hpp"

#include "engines/sqlite/database.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace crosslock::sqlite {
namespace {

/// Empty when it cannot be read. Long enough for everything read here.
std::string read_small_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 8192> buffer{};
  const ssize_t got = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

std::int64_t namespace_number(const char* path) {
  struct stat about {};
  return ::stat(path, &about) == 0 ? static_cast<std::int64_t>(about.st_ino) : 0;
}

/// It lists the numbers of a process in all namespaces from its own down: more than one, when it
/// was mounted further out than where we are.
bool proc_is_ours() {
  const std::string status = read_small_file("/proc/thread-self/status");
  constexpr std::string_view key = "\nNSpid:\t";
  const std::size_t begin = status.find(key);
  if (begin == std::string::npos) return false;
  const std::size_t end = status.find('\n', begin + key.size());
  return status.substr(begin + key.size(), end - begin - key.size()).find('\t') ==
         std::string::npos;
}

/// The words of the text, one after another.
std::string_view next_word(std::string_view& text) noexcept {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = std::min(text.find(' ', begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::optional<std::int64_t> to_number(std::string_view word) noexcept {
  std::int64_t number = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (wrong != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<process_state> parse_stat(std::string_view text) noexcept {
  // The program's name stands in parentheses and may itself contain any of them.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  // proc(5): the state is field 3, the number of threads 20, the start time 22.
  const std::string_view state = next_word(text);
  for (int field = 4; field < 20; ++field) next_word(text);
  const auto threads = to_number(next_word(text));
  next_word(text);
  const auto start = to_number(next_word(text));
  if (state.size() != 1 || !threads || !start) return std::nullopt;
  return process_state{state.front(), *threads, *start};
}

std::string read_boot_id(const std::string& path) {
  // Some containers get a file of their own laid over it. Theirs would be another boot, and free
  // what others hold.
  struct statfs about {};
  constexpr decltype(about.f_type) proc_magic = 0x9fa0;
  const bool genuine = ::statfs(path.c_str(), &about) == 0 && about.f_type == proc_magic;
  std::string id = genuine ? read_small_file(path) : std::string{};
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (id.empty()) {
    throw make_error(errc::unsupported,
                     path +
                         " is not the kernel's own here: without it nobody can tell whether a "
                         "lock is older than the last restart of this machine");
  }
  return id;
}

surroundings read_surroundings() {
  surroundings here;
  here.boot_id = read_boot_id("/proc/sys/kernel/random/boot_id");
  here.self.pid = ::getpid();
  // Of this thread: those of the process are gone when its main thread is. A /proc that was mounted
  // in another PID namespace shows other processes under our numbers: nothing is known then.
  if (proc_is_ours()) here.self.pid_ns = namespace_number("/proc/thread-self/ns/pid");
  // Kernels before 5.6 have no time namespaces: 0 for everybody.
  here.time_ns = namespace_number("/proc/thread-self/ns/time");
  if (const auto state = parse_stat(read_small_file("/proc/self/stat"))) {
    here.self.start = state->start;
  }
  return here;
}

namespace {

bool is_there(std::int64_t pid) noexcept {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

/// Whether anything can be said about it from here.
bool comparable(const process_id& who, const process_id& self) noexcept {
  return who.pid > 0 && who.pid_ns != 0 && who.pid_ns == self.pid_ns;
}

}  // namespace

sighting look_at(std::int64_t pid) noexcept {
  sighting seen;
  seen.there = is_there(pid);
  if (!seen.there) return seen;
  try {
    seen.state = parse_stat(read_small_file("/proc/" + std::to_string(pid) + "/stat"));
  } catch (const std::bad_alloc&) {
    // Then nothing is known.
  }
  return seen;
}

process_id process_of(std::int64_t pid, const process_id& self) noexcept {
  if (pid == 0 || pid == self.pid) return self;
  const sighting seen = look_at(pid);
  return {.pid = pid, .start = seen.state ? seen.state->start : 0, .pid_ns = self.pid_ns};
}

bool surely_dead(const process_id& who, const process_id& self, const sighting& seen) noexcept {
  if (!comparable(who, self)) return false;
  if (!seen.there) return true;
  if (!seen.state) return false;
  if (who.start != 0 && seen.state->start != who.start) return true;
  // A zombie has ended and only waits for its parent to ask. But a program whose main thread has
  // gone before the others looks the same, except that it still has threads.
  const bool ended = seen.state->state == 'Z' || seen.state->state == 'X';
  return ended && seen.state->threads <= 1;
}

bool surely_dead(const process_id& who, const process_id& self) noexcept {
  return comparable(who, self) && who != self && surely_dead(who, self, look_at(who.pid));
}

bool surely_gone(const process_id& who, const process_id& self) noexcept {
  return comparable(who, self) && who != self && !is_there(who.pid);
}

}  // namespace crosslock::sqlite
