// A connected stream of bytes to one server, whose calls end at their deadlines.
#pragma once

#include "engine/clock.hpp"
#include "engines/redis/address.hpp"

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace crosslock::redis {

/// One thread may read while another one writes; two may not do the same at once. Failures throw
/// crosslock::error and leave a stream that is fit for nothing but to be destroyed. Nothing here
/// raises SIGPIPE, and nothing allocates once the first bytes have gone both ways.
class stream {
 public:
  /// Connects within `give_up`, for TLS with the handshake. All addresses of a name are tried, each
  /// for its share of the time that is left. Looking the name up has no deadline: the C library
  /// offers none, and follows the options of resolv.conf. Throws `unreachable`; `denied` when a
  /// certificate is not what it should be.
  static std::unique_ptr<stream> connect(const address& to, seam::clock& clock, time_point give_up);

  virtual ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Throws `timed_out` when not all of it is on its way by `give_up`; some of it may be.
  virtual void write_all(std::string_view bytes, time_point give_up) = 0;
  /// Takes what there is room for just now, and says how much. Bytes that it has taken may still
  /// wait for room (`lags`): the next write sends them first.
  virtual std::size_t write_some(std::string_view bytes) = 0;
  virtual bool lags() const noexcept { return false; }
  /// Blocks until something is there; 0: nothing came until then. A moment in the past asks for
  /// what is there already. Throws `unreachable` when the peer has closed or the network failed.
  virtual std::size_t read_some(std::span<char> to, time_point until) = 0;
  /// Bytes may be ready that poll() on the descriptor would not tell of: read before polling. It
  /// may be wrong, once; after a read that found nothing it is false.
  virtual bool read_ahead() const noexcept { return false; }

  int descriptor() const noexcept { return descriptor_; }
  /// The peer has closed its side, or the connection has failed.
  bool hung_up() const noexcept;
  /// Ends the connection; a thread that is blocked in it fails at once. Callable from any thread
  /// while the stream exists.
  void cut() noexcept;
  /// In a forked child: the parent goes on with the connection, and neither it nor the server
  /// must notice. The destructor then does nothing more.
  void close_descriptor_only() noexcept;

 protected:
  /// Takes the descriptor over.
  stream(int descriptor, const address& to, seam::clock& clock);

  void send_all(std::string_view bytes, time_point give_up);
  std::size_t send_some(std::string_view bytes);
  std::size_t receive(std::span<char> to, time_point until);
  const std::string& peer() const noexcept { return peer_; }

 private:
  std::size_t received(ssize_t count) const;

  const std::string peer_;  ///< for error texts
  seam::clock& clock_;
  int descriptor_;
};

}  // namespace crosslock::redis
