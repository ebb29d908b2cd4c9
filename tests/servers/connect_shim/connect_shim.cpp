// Preloaded into one server, this leads its outgoing connections to other ports of this machine:
// CONNECT_SHIM is a list such as 21001:33001,21002:33002. So a fault proxy can stand between
// servers that tell each other their true addresses. Where nobody listens the connection is refused
// as ever: the proxy could only accept and break it, which is something else. Nothing here
// allocates.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

/// The port that stands behind this one in the list; the same when it is not there.
in_port_t led_to(in_port_t port) {
  const char* next = std::getenv("CONNECT_SHIM");
  while (next != nullptr && *next != '\0') {
    char* end = nullptr;
    const long from = std::strtol(next, &end, 10);
    if (*end != ':') break;
    const long to = std::strtol(end + 1, &end, 10);
    if (from == ntohs(port)) return htons(static_cast<in_port_t>(to));
    next = *end == ',' ? end + 1 : end;
  }
  return port;
}

/// Beside one that listens nobody else can have the port.
bool somebody_listens(const sockaddr_in& where) {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&where);
  const bool taken = ::bind(probe, generic, sizeof where) != 0;
  ::close(probe);
  return taken;
}

}  // namespace

extern "C" int connect(int socket, const sockaddr* where, socklen_t length) {
  sockaddr_in other{};
  if (where->sa_family == AF_INET && length >= sizeof other) {
    other = *reinterpret_cast<const sockaddr_in*>(where);
    const in_port_t led = led_to(other.sin_port);
    if (led != other.sin_port && !somebody_listens(other)) {
      errno = ECONNREFUSED;
      return -1;
    }
    other.sin_port = led;
    where = reinterpret_cast<const sockaddr*>(&other);
  }
  return static_cast<int>(::syscall(SYS_connect, socket, where, length));
}
