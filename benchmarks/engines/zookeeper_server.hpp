// A ZooKeeper server of our own for as long as a benchmark runs.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace crosslock::bench {

/// One server, as it comes: every transaction is synced to the disk this program is on. On a port
/// of 127.0.0.1 that was free. Ends with this process, however that ends. One thread at a time.
class zookeeper_server {
 public:
  zookeeper_server() : folder_{make_folder()}, port_{free_port()}, process_{start()} {
    using namespace std::chrono_literals;
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (ask("ruok") != "imok") {
      const bool over = waitpid(process_, nullptr, WNOHANG) != 0;
      if (over || std::chrono::steady_clock::now() > patience) {
        stop();
        throw std::runtime_error{"ZooKeeper did not start; are zookeeper and java installed?"};
      }
      std::this_thread::sleep_for(20ms);
    }
  }
  ~zookeeper_server() { stop(); }
  zookeeper_server(const zookeeper_server&) = delete;
  zookeeper_server& operator=(const zookeeper_server&) = delete;

  int port() const noexcept { return port_; }
  /// Removed with the server.
  const std::filesystem::path& folder() const noexcept { return folder_; }

  /// Packets that clients have sent. A multi is one; pings of idle sessions count, too, and the
  /// questions that are asked here do not.
  std::uint64_t packets() {
    const std::string said = ask("mntr");
    return number_after(said, "\nzk_packets_received\t") - asked_;
  }

  /// Notices of watches that the server has sent.
  std::uint64_t notices() {
    const std::string said = ask("mntr");
    std::uint64_t sum = 0;
    for (const std::string_view what : {"created", "deleted", "changed", "children"}) {
      sum += number_after(said, "\nzk_sum_node_" + std::string{what} + "_watch_count\t");
    }
    return sum;
  }

 private:
  static std::filesystem::path make_folder() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    std::string pattern = (program.parent_path() / "zookeeper-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::system_error{errno, std::generic_category(), pattern};
    return pattern;
  }

  static sockaddr_in place(int port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made.sin_port = htons(static_cast<std::uint16_t>(port));
    return made;
  }

  static int free_port() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in any = place(0);
    socklen_t size = sizeof any;
    auto* const address = reinterpret_cast<sockaddr*>(&any);
    const bool found = bind(probe, address, size) == 0 && getsockname(probe, address, &size) == 0;
    close(probe);
    if (!found) throw std::system_error{errno, std::generic_category(), "a port for ZooKeeper"};
    return ntohs(any.sin_port);
  }

  pid_t start() const {
    const std::string settings = (folder_ / "zoo.cfg").string();
    std::ofstream{settings} << "tickTime=2000\ndataDir=" << (folder_ / "data").string()
                            << "\nclientPortAddress=127.0.0.1\nclientPort=" << port_
                            << "\nmaxClientCnxns=0\nadmin.enableServer=false\n"
                               "4lw.commands.whitelist=ruok,mntr\n";
    const pid_t parent = getpid();
    const pid_t id = fork();
    if (id < 0) throw std::system_error{errno, std::generic_category(), "ZooKeeper"};
    if (id > 0) return id;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execlp("java", "java", "-Xmx512m", "-XX:+UseSerialGC", "-cp",
           "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar",
           "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings.c_str(), nullptr);
    _exit(127);
  }

  void stop() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// One of its four-letter words; empty when it does not answer.
  std::string ask(std::string_view word) {
    const int link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{.tv_sec = 2, .tv_usec = 0};  // one that is starting may never answer
    setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const sockaddr_in there = place(port_);
    std::string said;
    if (connect(link, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
        write(link, word.data(), word.size()) == static_cast<ssize_t>(word.size())) {
      char piece[8192];
      for (ssize_t size = 0; (size = read(link, piece, sizeof piece)) > 0;) {
        said.append(piece, static_cast<std::size_t>(size));
      }
    }
    close(link);
    if (!said.empty()) ++asked_;
    return said;
  }

  static std::uint64_t number_after(std::string_view text, std::string_view label) {
    const auto found = text.find(label);
    if (found == std::string_view::npos) throw std::runtime_error{"ZooKeeper's mntr has changed"};
    text.remove_prefix(found + label.size());
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  const std::filesystem::path folder_;
  const int port_;
  const pid_t process_;
  std::uint64_t asked_ = 0;
};

}  // namespace crosslock::bench
