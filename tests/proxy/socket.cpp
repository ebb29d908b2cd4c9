// Thin over the system's calls.
#include "proxy/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace crosslock::proxy {
namespace {

constexpr int backlog = 512;

[[noreturn]] void fail(const char* doing) {
  throw std::system_error{errno, std::generic_category(), doing};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return name;
}

template <class Name>
const sockaddr* generic(const Name& name) {
  return reinterpret_cast<const sockaddr*>(&name);
}

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void descriptor::close() noexcept {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

void descriptor::reset() noexcept {
  if (number_ < 0) return;
  const linger at_once{1, 0};
  ::setsockopt(number_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

descriptor connect_to(const address& where) {
  const bool local = !where.path.empty();
  descriptor made{::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!made.is_open()) fail("socket");
  int failed = 0;
  if (local) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (where.path.size() >= sizeof name.sun_path) throw std::length_error{where.path};
    std::memcpy(name.sun_path, where.path.c_str(), where.path.size() + 1);
    failed = ::connect(made.number(), generic(name), sizeof name);
  } else {
    const sockaddr_in name = loopback(where.port);
    failed = ::connect(made.number(), generic(name), sizeof name);
    send_at_once(made.number());
  }
  if (failed != 0) made.close();
  return made;
}

descriptor make_listener() {
  constexpr int kinds = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (int tries = 0; tries < 100; ++tries) {
    std::uint16_t port = 0;
    {
      const descriptor probe{::socket(AF_INET, kinds, 0)};
      const sockaddr_in any = loopback(0);
      if (::bind(probe.number(), generic(any), sizeof any) != 0) fail("bind");
      port = port_of(probe);
    }
    // Only a port that was asked for by its number is kept when we stop listening for a while.
    descriptor made{::socket(AF_INET, kinds, 0)};
    const sockaddr_in name = loopback(port);
    const int on = 1;  // connections of before are no hindrance
    ::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(made.number(), generic(name), sizeof name) != 0) continue;
    go_on_listening(made);
    return made;
  }
  fail("find a free port");
}

std::uint16_t port_of(const descriptor& listener) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  if (::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    fail("getsockname");
  }
  return ntohs(name.sin_port);
}

descriptor accept_from(const descriptor& listener) {
  descriptor made{::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (made.is_open()) send_at_once(made.number());
  return made;
}

void stop_listening(const descriptor& listener) {
  if (::shutdown(listener.number(), SHUT_RDWR) != 0) fail("stop listening");
}

void go_on_listening(const descriptor& listener) {
  if (::listen(listener.number(), backlog) != 0) fail("listen");
}

}  // namespace crosslock::proxy
