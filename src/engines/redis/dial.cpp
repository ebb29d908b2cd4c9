#include "engines/redis/dial.hpp"

#include "engines/redis/failure.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace crosslock::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class owned_socket {
 public:
  explicit owned_socket(int descriptor) noexcept : descriptor_{descriptor} {}
  ~owned_socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  owned_socket(const owned_socket&) = delete;
  owned_socket& operator=(const owned_socket&) = delete;

  int get() const noexcept { return descriptor_; }
  int hand_over() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

[[noreturn]] void refuse(const address& to, int code) {
  throw make_error(errc::unreachable, "cannot connect to " + to.shown() + ": " + errno_text(code),
                   code);
}

template <class Value>
void set(int descriptor, int level, int option, const Value& value) noexcept {
  // What a kernel does not know is not worth failing for: each of these has a net below it.
  (void)::setsockopt(descriptor, level, option, &value, sizeof value);
}

timeval to_timeval(duration span) {
  const auto whole = std::chrono::duration_cast<seconds>(span);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(span - whole);
  return {static_cast<time_t>(whole.count()), static_cast<suseconds_t>(rest.count())};
}

void make_lively(int descriptor) noexcept {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);  // of unacknowledged bytes
}

/// A connection to a free port of this machine may meet itself, when the kernel picks that very
/// port for its own end: then nobody is there.
bool met_itself(int descriptor) noexcept {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &other_size) == 0 &&
         own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

/// 0, or why there is no connection.
int finish_connecting(int descriptor, seam::clock& clock, time_point give_up) {
  if (!poll_until(descriptor, POLLOUT, clock, give_up)) return ETIMEDOUT;
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return errno;
  return code;
}

/// The socket, or the negative of an errno.
int dial_one(const addrinfo& where, seam::clock& clock, time_point give_up) {
  owned_socket made{::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (made.get() < 0) return -errno;
  make_lively(made.get());
  if (::connect(made.get(), where.ai_addr, where.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return -errno;
    const int code = finish_connecting(made.get(), clock, give_up);
    if (code != 0) return -code;
  }
  if (met_itself(made.get())) return -ECONNREFUSED;
  if (::fcntl(made.get(), F_SETFL, 0) != 0) return -errno;
  return made.hand_over();
}

using address_list = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

address_list look_up(const address& to) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &found);
  if (code == EAI_SYSTEM) refuse(to, errno);
  if (code != 0) {
    throw make_error(errc::unreachable,
                     "cannot connect to " + to.shown() + ": the host name was not found (" +
                         ::gai_strerror(code) + ")",
                     code);
  }
  return {found, &::freeaddrinfo};
}

int dial_tcp(const address& to, seam::clock& clock, time_point give_up) {
  const address_list found = look_up(to);
  const int descriptor = dial_any(found.get(), clock, give_up);
  if (descriptor < 0) refuse(to, -descriptor);
  return descriptor;
}

int dial_unix(const address& to, seam::clock& clock, time_point give_up) {
  owned_socket made{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (made.get() < 0) refuse(to, errno);
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  to.unix_path.copy(there.sun_path, sizeof there.sun_path - 1);
  const auto* const name = reinterpret_cast<const sockaddr*>(&there);
  for (;;) {
    const duration left = give_up - clock.now();
    if (left < milliseconds{1}) refuse(to, ETIMEDOUT);
    // Only a server that does not accept lets us wait; poll() does not know about that.
    set(made.get(), SOL_SOCKET, SO_SNDTIMEO, to_timeval(std::min<duration>(left, seconds{1})));
    if (::connect(made.get(), name, sizeof there) == 0) return made.hand_over();
    if (errno != EAGAIN && errno != EINTR) refuse(to, errno);
  }
}

}  // namespace

std::string errno_text(int code) {
  return std::error_code{code, std::generic_category()}.message();
}

bool poll_until(int descriptor, short events, seam::clock& clock, time_point until) {
  for (;;) {
    const duration left = std::max(until - clock.now(), duration::zero());
    // A second at most: poll()'s clock stands still during a suspend, our deadlines do not.
    const duration nap = std::min<duration>(left, seconds{1});
    const timespec wait{static_cast<time_t>(nap / seconds{1}),
                        static_cast<long>((nap % seconds{1}).count())};
    pollfd one{.fd = descriptor, .events = events, .revents = 0};
    const int seen = ::ppoll(&one, 1, &wait, nullptr);
    if (seen > 0 || (seen < 0 && errno != EINTR)) return true;  // the next call tells why
    if (left == duration::zero()) return false;
  }
}

int dial_any(const addrinfo* list, seam::clock& clock, time_point give_up) {
  int left = 0;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) ++left;
  int outcome = -EHOSTUNREACH;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next, --left) {
    const time_point now = clock.now();
    outcome = dial_one(*one, clock, now + (give_up - now) / left);
    if (outcome >= 0) break;
  }
  return outcome;
}

int dial(const address& to, seam::clock& clock, time_point give_up) {
  return to.unix_path.empty() ? dial_tcp(to, clock, give_up) : dial_unix(to, clock, give_up);
}

}  // namespace crosslock::redis
