// A stream keeps its deadlines and tells what happened to it, against a listener of our own.
#include "engines/redis/stream.hpp"

#include "engines/redis/dial.hpp"
#include "punctual.hpp"

#include <crosslock/error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

time_point now() { return seam::real_clock().now(); }

class descriptor {
 public:
  explicit descriptor(int number = -1) : number_{number} {}
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&&) = delete;
  ~descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int number() const { return number_; }

 private:
  int number_;
};

/// The other side, which does only what a test tells it to.
class listener {
 public:
  static listener tcp(int backlog = 8) {
    listener made{AF_INET};
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made.listen(reinterpret_cast<const sockaddr*>(&name), sizeof name, backlog);
    made.to_.host = "127.0.0.1";
    made.read_port();
    return made;
  }
  static std::optional<listener> tcp6() {
    listener made{AF_INET6};
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_addr = in6addr_loopback;
    const auto* const generic = reinterpret_cast<const sockaddr*>(&name);
    if (::bind(made.socket_.number(), generic, sizeof name) != 0) return std::nullopt;
    EXPECT_EQ(::listen(made.socket_.number(), 8), 0);
    made.read_port();
    return made;
  }
  static listener unix_socket(const std::string& path, int backlog = 8) {
    listener made{AF_UNIX};
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    made.listen(reinterpret_cast<const sockaddr*>(&name), sizeof name, backlog);
    made.to_.unix_path = path;
    return made;
  }

  const address& where() const { return to_; }
  address& where() { return to_; }
  descriptor accept() { return descriptor{::accept(socket_.number(), nullptr, nullptr)}; }

 private:
  explicit listener(int family) : socket_{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)} {}
  void listen(const sockaddr* name, socklen_t size, int backlog) {
    EXPECT_EQ(::bind(socket_.number(), name, size), 0);
    EXPECT_EQ(::listen(socket_.number(), backlog), 0);
  }
  void read_port() {
    sockaddr_in6 name{};  // the port has the same place in both families
    socklen_t size = sizeof name;
    EXPECT_EQ(::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    to_.port = ntohs(name.sin6_port);
  }

  descriptor socket_;
  address to_;
};

std::unique_ptr<stream> connect(const address& to, duration within = 2s) {
  return stream::connect(to, seam::real_clock(), now() + within);
}

std::string read(stream& from, duration within = 2s) {
  std::array<char, 4096> buffer{};
  const std::size_t count = from.read_some(buffer, now() + within);
  return {buffer.data(), count};
}

void say(const descriptor& to, std::string_view text) {
  EXPECT_EQ(::send(to.number(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

/// The error that a call throws.
template <class Call>
error failure_of(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    EXPECT_EQ(why.engine(), "redis");
    return why;
  }
  ADD_FAILURE() << "nothing failed";
  return error{errc::closed, ""};
}

struct pair {
  listener server = listener::tcp();
  std::unique_ptr<stream> ours = connect(server.where());
  descriptor theirs = server.accept();
};

TEST(redis_stream, carries_bytes_both_ways) {
  pair link;
  link.ours->write_all("hello", now() + 1s);
  std::array<char, 16> heard{};
  EXPECT_EQ(::recv(link.theirs.number(), heard.data(), heard.size(), 0), 5);
  EXPECT_EQ((std::string{heard.data(), 5}), "hello");
  say(link.theirs, "world");
  EXPECT_EQ(read(*link.ours), "world");
  EXPECT_FALSE(link.ours->read_ahead());
}

TEST(redis_stream, works_over_a_unix_socket) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("crosslock-stream-" + std::to_string(::getpid()) + ".sock");
  listener server = listener::unix_socket(path);
  const auto ours = connect(server.where());
  std::filesystem::remove(path);
  const descriptor theirs = server.accept();
  say(theirs, "x");
  EXPECT_EQ(read(*ours), "x");
}

TEST(redis_stream, reads_nothing_at_the_deadline_and_not_much_later) {
  pair link;
  for (const duration wait : {1ms, 20ms, 49ms, 51ms, 120ms}) {
    expect_punctual(wait, [&] { EXPECT_EQ(read(*link.ours, wait), ""); });
  }
}

TEST(redis_stream, a_deadline_in_the_past_asks_for_what_is_there) {
  pair link;
  EXPECT_EQ(read(*link.ours, -1s), "");
  say(link.theirs, "here");
  pollfd ready{link.ours->descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 2000), 1);
  EXPECT_EQ(read(*link.ours, -1s), "here");
  EXPECT_EQ(read(*link.ours, -1s), "");
}

TEST(redis_stream, bytes_that_come_late_end_the_wait_at_once) {
  pair link;
  for (const duration pause : {10ms, 80ms}) {
    expect_punctual(
        0ms,
        [&] {
          std::thread other{[&] {
            (void)::poll(nullptr, 0, static_cast<int>(pause / 1ms));  // the very thing under test
            say(link.theirs, "late");
          }};
          EXPECT_EQ(read(*link.ours, 5s), "late");
          other.join();
        },
        pause + 25ms);
  }
}

TEST(redis_stream, signals_neither_end_nor_lengthen_a_wait) {
  pair link;
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR2, &ignored, &before), 0);
  std::atomic<bool> done{false};
  const pthread_t reader = ::pthread_self();
  std::thread pest{[&] {
    while (!done) {
      ::pthread_kill(reader, SIGUSR2);
      (void)::poll(nullptr, 0, 2);
    }
  }};
  for (const duration wait : {30ms, 100ms}) {
    expect_punctual(wait, [&] { EXPECT_EQ(read(*link.ours, wait), ""); });
  }
  done = true;
  pest.join();
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST(redis_stream, a_peer_that_closes_is_unreachable_and_raises_no_signal) {
  ASSERT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL) << "or this test could not fail";
  pair link;
  say(link.theirs, "last words");
  link.theirs.close();
  EXPECT_EQ(read(*link.ours), "last words");
  const error why = failure_of([&] { read(*link.ours); });
  EXPECT_EQ(why.which(), errc::unreachable);
  EXPECT_NE(std::string{why.what()}.find(link.server.where().shown()), std::string::npos);
  // The first bytes bring a reset, the next meet a dead socket.
  const error broken = failure_of([&] {
    for (int i = 0; i < 1000; ++i) {
      link.ours->write_all("x", now() + 1s);
      (void)::poll(nullptr, 0, 1);
    }
  });
  EXPECT_EQ(broken.which(), errc::unreachable);
  EXPECT_TRUE(broken.native_code() == EPIPE || broken.native_code() == ECONNRESET);
}

TEST(redis_stream, a_peer_that_does_not_read_stops_a_write_at_its_deadline) {
  pair link;
  const std::string much(std::size_t{64} << 20, 'x');
  expect_punctual(80ms, [&] {
    const error why = failure_of([&] { link.ours->write_all(much, now() + 80ms); });
    EXPECT_EQ(why.which(), errc::timed_out);
  });
}

TEST(redis_stream, a_large_write_arrives_whole) {
  pair link;
  const std::string much(std::size_t{8} << 20, 'x');
  std::thread writer{[&] { link.ours->write_all(much, now() + 10s); }};
  std::size_t heard = 0;
  std::array<char, 65536> buffer{};
  while (heard < much.size()) {
    const ssize_t count = ::recv(link.theirs.number(), buffer.data(), buffer.size(), 0);
    ASSERT_GT(count, 0);
    heard += static_cast<std::size_t>(count);
  }
  writer.join();
  EXPECT_EQ(heard, much.size());
}

TEST(redis_stream, nobody_at_the_port_is_unreachable_by_name) {
  address nowhere;
  {
    const listener gone = listener::tcp();
    nowhere = gone.where();
  }
  nowhere.user = "ann";
  nowhere.password = "secret";
  const error why = failure_of([&] { connect(nowhere); });
  EXPECT_EQ(why.which(), errc::unreachable);
  EXPECT_EQ(why.native_code(), ECONNREFUSED);
  EXPECT_NE(std::string{why.what()}.find(nowhere.shown()), std::string::npos);
  EXPECT_EQ(std::string{why.what()}.find("secret"), std::string::npos);
}

TEST(redis_stream, a_missing_socket_and_an_impossible_name_are_told) {
  address to;
  to.unix_path = "/nonexistent/redis.sock";
  EXPECT_EQ(failure_of([&] { connect(to); }).native_code(), ENOENT);
  to.unix_path.clear();
  to.host = std::string(70, 'x');  // a label has at most 63 letters: no server is asked
  const error why = failure_of([&] { connect(to); });
  EXPECT_EQ(why.which(), errc::unreachable);
  EXPECT_NE(std::string{why.what()}.find("host name"), std::string::npos) << why.what();
}

/// Connects until the listener's queue is full, so that the next one has to wait.
std::vector<std::unique_ptr<stream>> fill(const address& to) {
  std::vector<std::unique_ptr<stream>> all;
  try {
    for (int i = 0; i < 100; ++i) all.push_back(connect(to, 50ms));
  } catch (const error&) {
    return all;
  }
  ADD_FAILURE() << "the queue is never full";
  return all;
}

TEST(redis_stream, a_silent_port_lets_nobody_wait_past_the_deadline) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("crosslock-full-" + std::to_string(::getpid()) + ".sock");
  const listener tcp = listener::tcp(0);
  const listener local = listener::unix_socket(path, 0);
  for (const listener* const one : {&tcp, &local}) {
    const auto others = fill(one->where());
    // Of a unix socket the last millisecond is not waited for.
    expect_punctual(99ms, [&] {
      const error why = failure_of([&] { connect(one->where(), 100ms); });
      EXPECT_EQ(why.which(), errc::unreachable);
      EXPECT_EQ(why.native_code(), ETIMEDOUT);
    });
  }
  std::filesystem::remove(path);
}

TEST(redis_stream, speaks_ipv6) {
  auto server = listener::tcp6();
  if (!server) GTEST_SKIP() << "there is no IPv6 here";
  server->where().host = "::1";
  EXPECT_TRUE(connect(server->where()));
}

TEST(redis_stream, tries_the_addresses_of_a_name_in_turn) {
  listener live = listener::tcp();
  const listener silent = listener::tcp(0);
  const auto others = fill(silent.where());
  sockaddr_in names[3]{};
  addrinfo list[3]{};
  const std::uint16_t ports[3]{1, silent.where().port, live.where().port};  // 1: nobody is there
  for (int i = 0; i < 3; ++i) {
    names[i].sin_family = AF_INET;
    names[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    names[i].sin_port = htons(ports[i]);
    list[i].ai_family = AF_INET;
    list[i].ai_addr = reinterpret_cast<sockaddr*>(&names[i]);
    list[i].ai_addrlen = sizeof names[i];
    list[i].ai_next = i < 2 ? &list[i + 1] : nullptr;
  }
  expect_punctual(100ms, [&] {  // the silent one gets half of the time
    const descriptor made{dial_any(list, seam::real_clock(), now() + 200ms)};
    ASSERT_GE(made.number(), 0);
    const descriptor accepted = live.accept();
  });
  list[1].ai_next = nullptr;
  EXPECT_EQ(dial_any(list, seam::real_clock(), now() + 50ms), -ETIMEDOUT);
  list[0].ai_next = nullptr;
  EXPECT_EQ(dial_any(list, seam::real_clock(), now() + 50ms), -ECONNREFUSED);
}

TEST(redis_stream, cutting_it_wakes_whoever_reads) {
  // In recv() at first, later in poll(): it has to end both.
  for (const duration pause : {10ms, 90ms}) {
    expect_punctual(pause, [&] {
      pair link;
      std::thread reader{[&] {
        const error why = failure_of([&] {
          for (;;) (void)read(*link.ours, 10s);
        });
        EXPECT_EQ(why.which(), errc::unreachable);
      }};
      (void)::poll(nullptr, 0, static_cast<int>(pause / 1ms));
      link.ours->cut();
      reader.join();
    });
  }
}

TEST(redis_stream, a_forked_child_closes_its_copy_and_nobody_notices) {
  pair link;
  const descriptor parents{::dup(link.ours->descriptor())};
  link.ours->close_descriptor_only();
  EXPECT_EQ(link.ours->descriptor(), -1);
  link.ours.reset();
  std::array<char, 1> byte{};
  EXPECT_EQ(::recv(link.theirs.number(), byte.data(), 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  say(parents, "x");
  EXPECT_EQ(::recv(link.theirs.number(), byte.data(), 1, 0), 1);
}

TEST(redis_stream, its_socket_is_lively_and_not_inherited) {
  pair link;
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(link.ours->descriptor(), level, name, &value, &size), 0);
    return value;
  };
  EXPECT_NE(option(IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 5);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 2);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 10'000);
  EXPECT_NE(::fcntl(link.ours->descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::fcntl(link.ours->descriptor(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace crosslock::redis
