// TLS with a real redis-server: whom we trust, whom it trusts, and that deadlines hold here, too.
#include "engines/redis/stream.hpp"
#include "proxy/resp.hpp"
#include "proxy/socket.hpp"
#include "punctual.hpp"
#include "servers/redis_server.hpp"
#include "servers/tls_files.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

time_point now() { return seam::real_clock().now(); }

std::unique_ptr<stream> connect(const address& to, duration within = 5s) {
  return stream::connect(to, seam::real_clock(), now() + within);
}

/// Says something and returns the first value of the answer.
std::string ask(stream& link, const std::vector<std::string>& words) {
  link.write_all(proxy::resp_request(words), now() + 5s);
  std::string heard;
  std::array<char, 65536> buffer{};
  for (;;) {
    if (const auto found = proxy::parse_resp(heard)) return found->first.text;
    const std::size_t count = link.read_some(buffer, now() + 5s);
    if (count == 0) return "nothing came";
    heard.append(buffer.data(), count);
  }
}

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

void expect_denied(const address& to, const std::string& words) {
  // With TLS 1.3 a server judges our certificate after we have begun to talk.
  const error why = failure_of([&] { ask(*connect(to), {"PING"}); });
  EXPECT_EQ(why.which(), errc::denied) << why.what();
  EXPECT_NE(std::string{why.what()}.find(words), std::string::npos) << why.what();
  EXPECT_FALSE(why.retryable());
}

class redis_tls : public testing::Test {
 protected:
  static void SetUpTestSuite() { files = new servers::tls_files; }
  static void TearDownTestSuite() { delete files; }

  redis_tls() { present("server"); }

  /// The server shows this certificate from now on.
  void present(const std::string& name, const std::string& clients = "no") {
    for (int tries = 0; tries < 20; ++tries) {
      port_ = proxy::port_of(proxy::make_listener());  // free again by now
      const auto said =
          server.say({"CONFIG", "SET", "tls-cert-file", files->certificate(name), "tls-key-file",
                      files->key(name), "tls-ca-cert-file", files->certificate("ca"),
                      "tls-auth-clients", clients, "tls-port", std::to_string(port_)});
      if (said.text == "OK") return;
    }
    FAIL() << "the server does not take up TLS";
  }

  /// Ours, with the right authority.
  address where(const std::string& host = "127.0.0.1") const {
    address to;
    to.host = host;
    to.port = port_;
    to.tls = true;
    to.ca_file = files->certificate("ca");
    return to;
  }

  static inline servers::tls_files* files = nullptr;
  servers::redis_server server;
  std::uint16_t port_ = 0;
};

TEST_F(redis_tls, a_server_is_known_by_address_and_by_name) {
  EXPECT_EQ(ask(*connect(where()), {"PING"}), "PONG");
  EXPECT_EQ(ask(*connect(where("localhost")), {"PING"}), "PONG");
}

TEST_F(redis_tls, an_authority_we_do_not_trust_is_refused) {
  address to = where();
  to.ca_file = files->certificate("other-ca");
  expect_denied(to, "certificate");
  to.ca_file.clear();  // this machine's own do not know it either
  expect_denied(to, "certificate");
}

TEST_F(redis_tls, a_certificate_for_another_name_is_refused) {
  present("elsewhere");
  expect_denied(where(), "mismatch");
  expect_denied(where("localhost"), "mismatch");
  address to = where();
  to.server_name = "other.example";
  EXPECT_EQ(ask(*connect(to), {"PING"}), "PONG");
  to.server_name = "example";
  expect_denied(to, "server_name");
}

TEST_F(redis_tls, a_certificate_that_is_over_is_refused) {
  present("expired");
  expect_denied(where(), "expired");
}

TEST_F(redis_tls, a_server_that_wants_our_certificate_gets_it) {
  present("server", "yes");
  address to = where();
  expect_denied(to, "cert and key");
  to.cert_file = files->certificate("forged");
  to.key_file = files->key("forged");
  expect_denied(to, "cert and key");
  to.cert_file = files->certificate("client");
  to.key_file = files->key("client");
  EXPECT_EQ(ask(*connect(to), {"PING"}), "PONG");
}

TEST_F(redis_tls, files_of_no_use_are_named) {
  address to = where();
  to.ca_file = "/nonexistent/ca.pem";
  expect_denied(to, "/nonexistent/ca.pem");
  to = where();
  to.cert_file = files->certificate("client");
  to.key_file = "/nonexistent/a.key";
  expect_denied(to, "/nonexistent/a.key");
  to.key_file = files->key("server");
  expect_denied(to, files->key("server"));
  to.key_file = files->key("locked");  // does not ask for the passphrase on the terminal
  expect_denied(to, files->key("locked"));
  to.cert_file = files->key("client");
  expect_denied(to, files->key("client"));
}

TEST_F(redis_tls, large_values_go_both_ways) {
  const auto link = connect(where());
  const std::string value(std::size_t{3} << 20, 'v');
  EXPECT_EQ(ask(*link, {"SET", "a", value}), "OK");
  EXPECT_EQ(ask(*link, {"GET", "a"}), value);
}

TEST_F(redis_tls, what_was_decrypted_and_not_read_is_told) {
  const auto link = connect(where());
  link->write_all(proxy::resp_request({"ECHO", "four"}), now() + 5s);
  std::array<char, 1> byte{};
  ASSERT_EQ(link->read_some(byte, now() + 5s), 1u);
  std::string heard{byte[0]};
  while (link->read_ahead() && link->read_some(byte, now() - 1s) == 1) heard += byte[0];
  EXPECT_EQ(heard, "$4\r\nfour\r\n");
  EXPECT_EQ(link->read_some(byte, now() - 1s), 0u);
  EXPECT_FALSE(link->read_ahead());
}

TEST_F(redis_tls, one_thread_reads_while_another_writes) {
  const auto link = connect(where());
  constexpr std::size_t count = 2000;
  const std::string expected = "+PONG\r\n";
  std::thread writer{[&] {
    for (std::size_t i = 0; i < count; ++i) link->write_all("PING\r\n", now() + 5s);
  }};
  std::size_t heard = 0;
  std::array<char, 4096> buffer{};
  while (heard < count * expected.size()) {
    const std::size_t more = link->read_some(buffer, now() + 5s);
    if (more == 0) break;
    for (std::size_t i = 0; i < more; ++i) {
      ASSERT_EQ(buffer.at(i), expected.at((heard + i) % expected.size()));
    }
    heard += more;
  }
  writer.join();
  EXPECT_EQ(heard, count * expected.size());
}

TEST_F(redis_tls, a_frozen_server_does_not_hold_a_reader_past_its_deadline) {
  const auto link = connect(where());
  server.stop();
  link->write_all("PING\r\n", now() + 1s);
  std::array<char, 16> buffer{};
  for (const duration wait : {20ms, 100ms}) {
    expect_punctual(wait, [&] { EXPECT_EQ(link->read_some(buffer, now() + wait), 0u); });
  }
  expect_punctual(100ms, [&] {
    EXPECT_EQ(failure_of([&] { connect(where(), 100ms); }).which(), errc::unreachable);
  });
  server.go_on();
  EXPECT_EQ(link->read_some(buffer, now() + 5s), 7u);
}

TEST_F(redis_tls, a_killed_server_is_unreachable_and_raises_no_signal) {
  ASSERT_EQ(::signal(SIGPIPE, SIG_DFL), SIG_DFL) << "or this test could not fail";
  const auto link = connect(where());
  EXPECT_EQ(ask(*link, {"PING"}), "PONG");
  server.kill();
  std::array<char, 16> buffer{};
  EXPECT_EQ(failure_of([&] { link->read_some(buffer, now() + 5s); }).which(), errc::unreachable);
  EXPECT_EQ(failure_of([&] {
              for (int i = 0; i < 1000; ++i) link->write_all("PING\r\n", now() + 1s);
            }).which(),
            errc::unreachable);
}

TEST_F(redis_tls, a_forked_child_says_nothing_to_the_server) {
  auto link = connect(where());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    link->close_descriptor_only();
    link.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ask(*link, {"PING"}), "PONG");
}

/// A port where somebody says `words` to whoever connects, and nothing more.
class speaker {
 public:
  explicit speaker(std::string words)
      : thread_{[this, words = std::move(words)] {
          pollfd knock{socket_.number(), POLLIN, 0};
          if (::poll(&knock, 1, 5000) != 1) return;
          const proxy::descriptor guest = proxy::accept_from(socket_);
          (void)::send(guest.number(), words.data(), words.size(), MSG_NOSIGNAL);
          pollfd end{guest.number(), POLLRDHUP, 0};
          (void)::poll(&end, 1, 5000);
        }} {}
  ~speaker() { thread_.join(); }
  std::uint16_t port() const { return proxy::port_of(socket_); }

 private:
  proxy::descriptor socket_ = proxy::make_listener();
  std::thread thread_;
};

TEST_F(redis_tls, who_does_not_speak_tls_is_told_from_who_says_nothing) {
  address to = where();
  {
    const speaker plain{"-ERR unknown command\r\n"};
    to.port = plain.port();
    const error why = failure_of([&] { connect(to); });
    EXPECT_EQ(why.which(), errc::protocol) << why.what();
  }
  const proxy::descriptor silent = proxy::make_listener();
  to.port = proxy::port_of(silent);
  expect_punctual(100ms, [&] {
    const error why = failure_of([&] { connect(to, 100ms); });
    EXPECT_EQ(why.which(), errc::unreachable) << why.what();
    EXPECT_EQ(why.native_code(), ETIMEDOUT);
  });
}

TEST_F(redis_tls, a_process_that_ends_behind_its_unlock_leaves_nothing) {
  const std::string url =
      "rediss://127.0.0.1:" + std::to_string(port_) + "?ca=" + files->certificate("ca");
  for (int i = 0; i < 10; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const client locks = crosslock::connect(url);
      mutex lock{locks, "name"};
      for (int turn = 0; turn < 20; ++turn) {
        lock.lock();
        lock.unlock();
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    const auto taken = [&] { return server.say({"EXISTS", "name"}).text != "0"; };
    const auto end = std::chrono::steady_clock::now() + 1s;
    while (taken() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_FALSE(taken()) << i;
  }
}

}  // namespace
}  // namespace crosslock::redis
