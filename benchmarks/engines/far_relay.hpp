// A server at a distance: hands bytes on, each some time after it came.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace crosslock::bench {

/// On a port of its own, with one thread. Both ways take the same time.
class far_relay {
 public:
  using clock = std::chrono::steady_clock;

  far_relay(int port, clock::duration there_and_back)
      : server_{port}, delay_{there_and_back / 2}, listener_{open()}, bell_{::eventfd(0, 0)} {
    thread_ = std::thread{[this] { work(); }};
  }
  far_relay(const far_relay&) = delete;
  far_relay& operator=(const far_relay&) = delete;
  ~far_relay() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(bell_, &one, sizeof one));
    thread_.join();
    for (const link& each : links_) close_both(each);
    ::close(listener_);
    ::close(bell_);
  }

  int port() const noexcept { return port_; }

 private:
  struct packet {
    clock::time_point due;
    std::string bytes;
  };
  struct link {
    std::array<int, 2> ends{-1, -1};           ///< client, server
    std::array<std::deque<packet>, 2> on_way;  ///< from that end to the other
    bool over = false;
  };

  int open() {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = address(0);
    socklen_t length = sizeof here;
    if (made < 0 || ::bind(made, reinterpret_cast<sockaddr*>(&here), length) != 0 ||
        ::listen(made, 512) != 0 ||
        ::getsockname(made, reinterpret_cast<sockaddr*>(&here), &length) != 0) {
      throw std::runtime_error{"no port for a relay"};
    }
    port_ = ntohs(here.sin_port);
    return made;
  }

  static sockaddr_in address(int port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    return where;
  }

  static void close_both(const link& gone) {
    for (const int end : gone.ends) ::close(end);
  }

  void accept_one() {
    const int one = 1;
    link fresh;
    fresh.ends[0] = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    fresh.ends[1] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in where = address(server_);
    if (::connect(fresh.ends[1], reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
      return close_both(fresh);
    }
    for (const int end : fresh.ends) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    links_.push_back(std::move(fresh));
  }

  void receive(link& on, std::size_t from) {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(on.ends[from], bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      on.on_way[from].push_back(
          {clock::now() + delay_, {bytes.data(), static_cast<std::size_t>(count)}});
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      on.over = true;
    }
  }

  /// Sends what is due; returns when the next is.
  clock::time_point deliver(link& on) {
    clock::time_point next = clock::time_point::max();
    for (std::size_t from : {0U, 1U}) {
      auto& queue = on.on_way[from];
      for (; !queue.empty() && queue.front().due <= clock::now(); queue.pop_front()) {
        const std::string& bytes = queue.front().bytes;
        if (::send(on.ends[1 - from], bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) on.over = true;
      }
      if (!queue.empty()) next = std::min(next, queue.front().due);
    }
    return next;
  }

  void work() {
    for (;;) {
      clock::time_point next = clock::time_point::max();
      std::vector<pollfd> all{{bell_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (auto at = links_.begin(); at != links_.end();) {
        next = std::min(next, deliver(*at));
        if (at->over) {
          close_both(*at);
          at = links_.erase(at);
          continue;
        }
        for (const int end : at->ends) all.push_back({end, POLLIN, 0});
        ++at;
      }
      wait(all, next);
      if (all[0].revents != 0) return;
      std::size_t i = 2;
      for (link& each : links_) {
        for (std::size_t end : {0U, 1U}) {
          if (all[i++].revents != 0) receive(each, end);
        }
      }
      if (all[1].revents != 0) accept_one();
    }
  }

  static void wait(std::vector<pollfd>& all, clock::time_point until) {
    if (until == clock::time_point::max()) {
      ::ppoll(all.data(), all.size(), nullptr, nullptr);
      return;
    }
    const auto left = std::max(clock::duration::zero(), until - clock::now());
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec span{static_cast<time_t>(ns / 1'000'000'000),
                        static_cast<long>(ns % 1'000'000'000)};
    ::ppoll(all.data(), all.size(), &span, nullptr);
  }

  const int server_;
  const clock::duration delay_;
  int port_ = 0;
  const int listener_;
  const int bell_;
  std::list<link> links_;
  std::thread thread_;
};

}  // namespace crosslock::bench
