// The child is told to die with the thread that started it before it becomes the server.
#include "servers/own_process.hpp"

#include "proxy/socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& doing) {
  throw std::system_error{errno, std::generic_category(), doing};
}

/// What a test that was killed has left.
void remove_folders_of_the_dead(const std::string& beginning) {
  for (const auto& each : fs::directory_iterator{fs::temp_directory_path()}) {
    const std::string name = each.path().filename();
    if (!name.starts_with(beginning)) continue;
    const int pid = std::atoi(name.c_str() + beginning.size());
    std::error_code ignored;
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(each.path(), ignored);
  }
}

fs::path make_folder(const std::string& kind) {
  const std::string beginning = "crosslock-" + kind + "-";
  remove_folders_of_the_dead(beginning);
  std::string pattern =
      fs::temp_directory_path() / (beginning + std::to_string(::getpid()) + "-XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) fail("make a folder");
  return pattern;
}

/// In the child: only what is safe after fork().
[[noreturn]] void become(const std::vector<char*>& arguments, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // too late for the signal
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  // A test may ignore or block signals; the server shall not inherit that.
  ::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

own_process::own_process(const std::string& kind)
    : folder_{make_folder(kind)}, started_by_{::getpid()} {}

own_process::~own_process() {
  if (::getpid() != started_by_) return;
  kill();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool own_process::has_ended() {
  if (pid_ <= 0) return true;
  if (::waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

std::string own_process::log() const {
  std::ifstream file{folder_ / "log"};
  std::ostringstream text;
  text << file.rdbuf();
  constexpr std::size_t enough = 2000;
  const std::string all = text.str();
  return all.size() > enough ? all.substr(all.size() - enough) : all;
}

void own_process::spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const proxy::descriptor output{
      ::open((folder_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) become(arguments, output.number(), parent);
}

void own_process::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void own_process::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}

void own_process::go_on() { ::kill(pid_, SIGCONT); }

std::uint16_t free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> among{10'000, 30'000};
  for (;;) {
    const auto port = static_cast<std::uint16_t>(among(random));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const proxy::descriptor probe{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const auto* const generic = reinterpret_cast<const sockaddr*>(&name);
    if (::bind(probe.number(), generic, sizeof name) == 0) return port;
  }
}

}  // namespace crosslock::servers
