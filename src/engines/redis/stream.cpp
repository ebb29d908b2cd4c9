// The socket blocks, but for 50 ms at most (SO_RCVTIMEO). So an answer that comes soon, as nearly
// all do, costs one recv(). Whoever waits longer goes on with poll(), and is not woken for nothing.
#include "engines/redis/stream.hpp"

#include "engines/redis/dial.hpp"
#include "engines/redis/failure.hpp"
#include "engines/redis/tls.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr std::chrono::milliseconds patience{50};

class plain_stream final : public stream {
 public:
  plain_stream(int descriptor, const address& to, seam::clock& clock)
      : stream{descriptor, to, clock} {}

  void write_all(std::string_view bytes, time_point give_up) override { send_all(bytes, give_up); }
  std::size_t write_some(std::string_view bytes) override { return send_some(bytes); }
  std::size_t read_some(std::span<char> to, time_point until) override {
    return receive(to, until);
  }
};

bool would_block(int code) noexcept { return code == EAGAIN || code == EWOULDBLOCK; }

}  // namespace

std::unique_ptr<stream> stream::connect(const address& to, seam::clock& clock, time_point give_up) {
  const int descriptor = dial(to, clock, give_up);
  if (to.tls) return connect_tls(descriptor, to, clock, give_up);
  return std::make_unique<plain_stream>(descriptor, to, clock);
}

stream::stream(int descriptor, const address& to, seam::clock& clock)
    : peer_{to.shown()}, clock_{clock}, descriptor_{descriptor} {
  const timeval soon{.tv_sec = 0, .tv_usec = std::chrono::microseconds{patience}.count()};
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon) != 0) {
    const int code = errno;
    ::close(descriptor);
    throw make_error(errc::unreachable, "SO_RCVTIMEO: " + errno_text(code), code);
  }
}

stream::~stream() { close_descriptor_only(); }

bool stream::hung_up() const noexcept {
  pollfd here{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&here, 1, 0) == 1 && (here.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void stream::cut() noexcept {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

void stream::close_descriptor_only() noexcept {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0) ::close(descriptor);
}

std::size_t stream::send_some(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t sent = ::send(descriptor_, bytes.data() + taken, bytes.size() - taken,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      taken += static_cast<std::size_t>(sent);
      continue;
    }
    const int code = errno;
    if (sent < 0 && code == EINTR) continue;
    if (sent < 0 && !would_block(code)) {
      throw make_error(errc::unreachable,
                       "the connection to " + peer_ + " failed: " + errno_text(code), code);
    }
    break;
  }
  return taken;
}

void stream::send_all(std::string_view bytes, time_point give_up) {
  for (;;) {
    bytes.remove_prefix(send_some(bytes));
    if (bytes.empty()) return;
    if (!poll_until(descriptor_, POLLOUT, clock_, give_up)) {
      throw make_error(errc::timed_out, peer_ + " does not take what is sent to it", ETIMEDOUT);
    }
  }
}

/// The outcome of one recv(): bytes, or 0 when there are none yet.
std::size_t stream::received(ssize_t count) const {
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) {
    throw make_error(errc::unreachable, peer_ + " closed the connection", ECONNRESET);
  }
  const int code = errno;
  if (would_block(code) || code == EINTR) return 0;
  throw make_error(errc::unreachable, "the connection to " + peer_ + " failed: " + errno_text(code),
                   code);
}

std::size_t stream::receive(std::span<char> to, time_point until) {
  const duration left = until - clock_.now();
  if (left <= duration::zero()) {
    return received(::recv(descriptor_, to.data(), to.size(), MSG_DONTWAIT));
  }
  if (left >= patience) {
    const auto count = received(::recv(descriptor_, to.data(), to.size(), 0));
    if (count > 0) return count;
  }
  for (;;) {
    const bool told = poll_until(descriptor_, POLLIN, clock_, until);
    const auto count = received(::recv(descriptor_, to.data(), to.size(), MSG_DONTWAIT));
    if (count > 0 || !told) return count;
  }
}

}  // namespace crosslock::redis
