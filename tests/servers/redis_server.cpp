// Folders are under the system's place for such things: paths of sockets must be short.
#include "servers/redis_server.hpp"

#include "engine/clock.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr duration patience = 20s;
constexpr int patience_ms = 20'000;

[[noreturn]] void fail(const std::string& doing) {
  throw std::system_error{errno, std::generic_category(), doing};
}

const std::string beginning = "crosslock-redis-";

/// What a test that was killed has left.
bool remove_folders_of_the_dead() {
  for (const auto& each : fs::directory_iterator{fs::temp_directory_path()}) {
    const std::string name = each.path().filename();
    if (!name.starts_with(beginning)) continue;
    const int pid = std::atoi(name.c_str() + beginning.size());
    std::error_code ignored;
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(each.path(), ignored);
  }
  return true;
}

fs::path make_folder() {
  static const bool tidied = remove_folders_of_the_dead();
  std::string pattern =
      fs::temp_directory_path() / (beginning + std::to_string(::getpid()) + "-XXXXXX");
  if (!tidied || ::mkdtemp(pattern.data()) == nullptr) fail("make a folder");
  return pattern;
}

/// Below those that the system gives to outgoing connections, so that it stays free over a restart.
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

void nap() {
  pollfd nothing{-1, 0, 0};
  ::poll(&nothing, 1, 1);
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

redis_talk::redis_talk(const proxy::address& where) : socket_{proxy::connect_to(where)} {
  if (!socket_.is_open()) throw std::runtime_error{"no redis-server listens there"};
}

proxy::resp_value redis_talk::say(const std::vector<std::string>& words) {
  const std::string request = proxy::resp_request(words);
  const auto size = static_cast<ssize_t>(request.size());
  if (::send(socket_.number(), request.data(), request.size(), MSG_NOSIGNAL) != size) {
    throw std::runtime_error{"the redis-server is gone"};
  }
  return next();
}

proxy::resp_value redis_talk::next() {
  std::array<char, 65536> bytes;
  for (;;) {
    if (auto found = proxy::parse_resp(received_)) {
      received_.erase(0, found->second);
      return std::move(found->first);
    }
    pollfd news{socket_.number(), POLLIN, 0};
    if (::poll(&news, 1, patience_ms) <= 0) {
      throw std::runtime_error{"the redis-server does not answer"};
    }
    const ssize_t got = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error{"the redis-server has hung up"};
    received_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

redis_server::redis_server(redis_options how)
    : how_{std::move(how)}, folder_{make_folder()}, data_{how_.data.empty() ? folder_ : how_.data} {
  start();
}

redis_server::~redis_server() {
  kill();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void redis_server::start() {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    if (how_.tcp && port_ == 0) port_ = free_port();
    spawn();
    if (answers()) return;
    // Gone at once: perhaps somebody else has got the port meanwhile.
    if (how_.tcp && log().find("Address already in use") != std::string::npos) continue;
    break;
  }
  const std::string why = log();
  kill();
  throw std::runtime_error{"redis-server does not start: " + why};
}

void redis_server::spawn() {
  std::vector<std::string> words = command_line();
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

std::vector<std::string> redis_server::command_line() const {
  std::vector<std::string> words = how_.through;
  words.insert(words.end(), {"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port_),
                             "--unixsocket", address().path, "--dir", data_.string(), "--save", "",
                             "--daemonize", "no", "--repl-diskless-sync-delay", "0"});
  for (const auto& [name, value] : how_.settings) {
    words.push_back("--" + name);
    std::istringstream parts{value};
    // Each word is an argument, as in redis.conf; an empty value is one, too.
    if (value.empty()) words.emplace_back();
    for (std::string part; parts >> part;) words.push_back(part);
  }
  return words;
}

/// Until it answers (true) or ends (false).
bool redis_server::answers() {
  const time_point end = seam::real_clock().now() + patience;
  for (; seam::real_clock().now() < end; nap()) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    try {
      redis_talk probe{address()};
      const proxy::resp_value said = probe.say({"PING"});
      // While it reads its files it says so; to ask for a password is an answer.
      if (said.text.find("LOADING") == std::string::npos) return true;
    } catch (const std::runtime_error&) {
    }
  }
  return false;
}

std::string redis_server::log() const {
  std::ifstream file{folder_ / "log"};
  std::ostringstream text;
  text << file.rdbuf();
  constexpr std::size_t enough = 2000;
  const std::string all = text.str();
  return all.size() > enough ? all.substr(all.size() - enough) : all;
}

proxy::resp_value redis_server::say(const std::vector<std::string>& words) {
  for (int tries = 0;; ++tries) {
    try {
      if (!talk_) {
        talk_ = std::make_unique<redis_talk>(address());
        if (!login_.empty()) talk_->say(login_);
      }
      return talk_->say(words);
    } catch (const std::runtime_error&) {
      // A test may have had all connections killed, this one with them.
      talk_.reset();
      if (tries > 0) throw;
    }
  }
}

std::int64_t redis_server::info(const std::string& section, const std::string& field) {
  const std::string text = say({"INFO", section}).text;
  const std::size_t at = text.find('\n' + field + ':');
  if (at == std::string::npos) return 0;
  return std::stoll(text.substr(at + field.size() + 2));
}

void redis_server::kill() {
  talk_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void redis_server::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}

void redis_server::go_on() { ::kill(pid_, SIGCONT); }

void redis_server::start_empty() {
  kill();
  for (const auto& each : fs::directory_iterator{folder_}) {
    if (each.path().filename() != "log") fs::remove_all(each.path());
  }
  start();
}

void redis_server::set(const std::string& name, const std::string& value) {
  std::erase_if(how_.settings, [&](const auto& each) { return each.first == name; });
  how_.settings.emplace_back(name, value);
}

}  // namespace crosslock::servers
