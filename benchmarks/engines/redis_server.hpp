// A redis-server of our own for as long as a benchmark runs.
#pragma once

#include "benchmarks/floors/redis_link.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace crosslock::bench {

/// Without persistence, on a port of 127.0.0.1 that was free. Ends with this process, however that
/// ends. One thread at a time.
class redis_server {
 public:
  redis_server() : port_{free_port()}, process_{start(port_)} {
    using namespace std::chrono_literals;
    const auto patience = std::chrono::steady_clock::now() + 10s;
    while (!link_) {
      try {
        link_.emplace(port_);
      } catch (const std::runtime_error&) {
        const bool over = waitpid(process_, nullptr, WNOHANG) != 0;
        if (over) throw std::runtime_error{"redis-server did not start; is it installed?"};
        if (std::chrono::steady_clock::now() > patience) stop(), throw;
        std::this_thread::sleep_for(5ms);
      }
    }
  }
  ~redis_server() { stop(); }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;

  int port() const noexcept { return port_; }

  /// Commands that came from clients, by the server's own statistics. What a script calls is
  /// counted there as well, under its own name: these are the names that no script here calls.
  std::uint64_t commands() {
    constexpr std::string_view sent_by_clients[] = {"evalsha", "eval",  "blpop",     "rpush",
                                                    "ping",    "hello", "subscribe", "unsubscribe"};
    const auto said = link_->ask({"INFO", "commandstats"});
    std::uint64_t sum = 0;
    for (const std::string_view name : sent_by_clients) {
      sum += number_after(text_of(*said), "cmdstat_" + std::string{name} + ":calls=");
    }
    return sum;
  }

  /// How often the server has read from a connection: commands that travel together are one, or a
  /// few when they fill its buffer of 16 KiB.
  std::uint64_t reads() {
    const auto said = link_->ask({"INFO", "stats"});
    return number_after(text_of(*said), "total_reads_processed:");
  }

 private:
  static int free_port() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    const bool found = bind(probe, address, size) == 0 && getsockname(probe, address, &size) == 0;
    close(probe);
    if (!found) throw std::system_error{errno, std::generic_category(), "a port for redis-server"};
    return ntohs(place.sin_port);
  }

  static pid_t start(int port) {
    const std::string number = std::to_string(port);
    const pid_t parent = getpid();
    const pid_t id = fork();
    if (id < 0) throw std::system_error{errno, std::generic_category(), "redis-server"};
    if (id > 0) return id;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execlp("redis-server", "redis-server", "--port", number.c_str(), "--bind", "127.0.0.1",
           "--save", "", "--appendonly", "no", "--loglevel", "warning", "--logfile", "/dev/null",
           nullptr);
    _exit(127);
  }

  void stop() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  /// Zero if there is none.
  static std::uint64_t number_after(std::string_view text, std::string_view label) {
    const auto place = text.find(label);
    if (place == std::string_view::npos) return 0;
    text.remove_prefix(place + label.size());
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  const int port_;
  const pid_t process_;
  std::optional<redis_link> link_;
};

}  // namespace crosslock::bench
