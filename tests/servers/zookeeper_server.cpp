// The virtual machine is started without the scripts of the package, which know one server only.
#include "servers/zookeeper_server.hpp"

#include "servers/zookeeper_talk.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;

/// Said while it starts, or has lost its peers. One that is just starting then forgets to hang up.
constexpr const char* not_yet = "not currently serving requests\n";
constexpr duration short_patience = std::chrono::milliseconds{500};

// The manifest of the first names everything else that it needs.
constexpr const char* classes = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";
constexpr const char* main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A dozen test programs that begin together would start a dozen virtual machines together, and
/// their first requests would take longer than clients wait: they start one after another.
class turn_to_start {
 public:
  turn_to_start()
      : file_{::open((fs::temp_directory_path() / "crosslock-java.lock").c_str(),
                     O_RDWR | O_CREAT | O_CLOEXEC, 0666)} {
    if (file_.is_open()) ::flock(file_.number(), LOCK_EX);
  }

 private:
  proxy::descriptor file_;
};

}  // namespace

zookeeper_server::zookeeper_server(zookeeper_options how)
    : how_{std::move(how)}, data_{how_.data.empty() ? folder() / "data" : how_.data} {
  const turn_to_start mine;
  start();
  if (how_.id == 0) warm_up();
}

// A session, a write and a read: the classes that those need are loaded then. No node is made:
// the numbers of sequences are counted from the first.
void zookeeper_server::warm_up() const {
  zookeeper_talk talk{address()};
  talk.set("/", {});
  talk.exists("/");
}

void zookeeper_server::start() {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    if (port_ == 0) port_ = free_port();
    write_settings();
    process_.spawn(command_line());
    if (comes_up()) return;
    // Gone at once: perhaps somebody else has got the port meanwhile.
    if (!contains(log(), "Address already in use")) break;
    port_ = 0;
  }
  const std::string why = log();
  kill();
  throw std::runtime_error{"the ZooKeeper server does not start: " + why};
}

/// True when it serves, or runs and waits for others; false when it has ended.
bool zookeeper_server::comes_up() {
  bool up = false;
  eventually([&] {
    if (process_.has_ended()) return true;
    try {
      up = how_.id != 0 ? say("ruok", short_patience) == "imok" : serves();
    } catch (const std::runtime_error&) {
    }
    return up;
  });
  return up;
}

void zookeeper_server::write_settings() const {
  std::vector<std::pair<std::string, std::string>> all{
      {"dataDir", data_.string()},
      {"clientPort", std::to_string(port_)},
      {"clientPortAddress", "127.0.0.1"},
      {"tickTime", "200"},
      {"minSessionTimeout", "400"},
      {"maxSessionTimeout", "60000"},
      {"maxClientCnxns", "0"},
      {"4lw.commands.whitelist", "*"},
      {"admin.enableServer", "false"},
      {"forceSync", "no"},
      {"preAllocSize", "1024"},
  };
  for (const auto& each : how_.settings) {
    std::erase_if(all, [&](const auto& ours) { return ours.first == each.first; });
    all.push_back(each);
  }
  fs::create_directories(data_);
  if (how_.id != 0) std::ofstream{data_ / "myid"} << how_.id << '\n';
  std::ofstream file{folder() / "zoo.cfg"};
  for (const auto& [name, value] : all) file << name << '=' << value << '\n';
}

std::vector<std::string> zookeeper_server::command_line() const {
  std::vector<std::string> words = how_.through;
  words.insert(words.end(), {
                                "java",
                                "-Xmx128m",
                                "-XX:+UseSerialGC",
                                "-XX:TieredStopAtLevel=1",  // soon fast, not fastest later
                                "-Xshare:auto",
                                "-XX:-UsePerfData",
                                "-Djava.net.preferIPv4Stack=true",
                                "-Dzookeeper.jmx.log4j.disable=true",
                                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                            });
  words.insert(words.end(), how_.machine.begin(), how_.machine.end());
  words.insert(words.end(), {"-cp", classes, main_class, (folder() / "zoo.cfg").string()});
  return words;
}

std::string zookeeper_server::say(const std::string& word, duration within) const {
  const proxy::descriptor socket{proxy::connect_to(address())};
  const auto size = static_cast<ssize_t>(word.size());
  if (!socket.is_open() ||
      ::send(socket.number(), word.data(), word.size(), MSG_NOSIGNAL) != size) {
    throw std::runtime_error{"no ZooKeeper server listens there"};
  }
  std::string said;
  std::array<char, 65536> bytes;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(within).count();
  for (;;) {
    pollfd news{socket.number(), POLLIN, 0};
    if (::poll(&news, 1, static_cast<int>(milliseconds)) <= 0) {
      throw std::runtime_error{"the ZooKeeper server does not answer"};
    }
    const ssize_t got = ::recv(socket.number(), bytes.data(), bytes.size(), 0);
    if (got < 0) throw std::runtime_error{"the ZooKeeper server has hung up"};
    if (got == 0) return said;
    said.append(bytes.data(), static_cast<std::size_t>(got));
    if (contains(said, not_yet)) return said;
  }
}

std::int64_t zookeeper_server::number(const std::string& field) const {
  std::istringstream lines{say("mntr")};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(field + '\t')) return std::stoll(line.substr(field.size() + 1));
  }
  return 0;
}

std::string zookeeper_server::mode() const {
  if (!runs() || stopped_) return {};
  try {
    std::istringstream lines{say("srvr", short_patience)};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("Mode: ")) return line.substr(6);
    }
  } catch (const std::runtime_error&) {
  }
  return {};
}

bool zookeeper_server::serves() const { return !mode().empty(); }

void zookeeper_server::kill() {
  process_.kill();
  stopped_ = false;
}

void zookeeper_server::stop() {
  process_.stop();
  stopped_ = true;
}

void zookeeper_server::go_on() {
  process_.go_on();
  stopped_ = false;
}

void zookeeper_server::start_empty() {
  kill();
  fs::remove_all(data_);
  start();
}

void zookeeper_server::set(const std::string& name, const std::string& value) {
  std::erase_if(how_.settings, [&](const auto& each) { return each.first == name; });
  how_.settings.emplace_back(name, value);
}

std::string with_super_user() {
  // "super:" and the SHA-1 of "super:sesame" in base64.
  return "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:"
         "vj2Twc2lQjSrH72zpcKdVtrT1Pc=";
}

}  // namespace crosslock::servers
