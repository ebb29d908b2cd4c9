// OpenSSL works on memory, and this class carries the bytes: so sends have MSG_NOSIGNAL, reads have
// deadlines, and while one thread waits for bytes another one may encrypt.
#include "engines/redis/tls.hpp"

#include "engine/guarded.hpp"
#include "engines/redis/failure.hpp"
#include "engines/redis/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr std::size_t record_bytes = 16 * 1024;

class tls_stream final : public stream {
 public:
  tls_stream(int descriptor, const address& to, seam::clock& clock)
      : stream{descriptor, to, clock},
        name_{to.certified_name()},
        context_{make_tls_context(to)},
        session_{make_tls_session(context_.get(), to)} {}
  ~tls_stream() override;

  void shake_hands(time_point give_up);
  void write_all(std::string_view bytes, time_point give_up) override;
  std::size_t write_some(std::string_view bytes) override;
  bool lags() const noexcept override { return !rest_.empty(); }
  std::size_t read_some(std::span<char> to, time_point until) override;
  bool read_ahead() const noexcept override;

 private:
  std::size_t encrypt(std::string_view& bytes);
  int decrypt(std::span<char> to);
  std::size_t take_outgoing();
  void flush(time_point give_up);
  bool fetch(time_point until);
  void look_for_parting_words();
  [[noreturn]] void fail(int what);

  const std::string name_;
  const tls_context context_;

  std::array<char, record_bytes + 1024> incoming_;  ///< of the thread that reads
  std::array<char, record_bytes + 1024> outgoing_;  ///< of the thread that writes
  std::string rest_;  ///< its own, too: encrypted, and there was no room for it yet

  mutable seam::mutex mutex_;  ///< held for computing only, never for waiting
  const tls_session session_;
  /// Anything of what the server had to say after the handshake.
  bool heard_ CROSSLOCK_GUARDED_BY(mutex_) = false;
};

tls_stream::~tls_stream() {
  if (descriptor() < 0) return;
  // So that the server sees an end and not an accident; it does not matter if that fails.
  try {
    SSL_shutdown(session_.get());
    flush(time_point{});
  } catch (const error&) {
  }
  ERR_clear_error();
}

std::size_t tls_stream::take_outgoing() {
  const int count =
      BIO_read(SSL_get_wbio(session_.get()), outgoing_.data(), static_cast<int>(outgoing_.size()));
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

/// Sends what OpenSSL wants to be sent. What a read leaves there, such as the answer to a change of
/// keys, goes out with the next write, as TLS allows.
void tls_stream::flush(time_point give_up) {
  for (;;) {
    std::size_t count = 0;
    {
      const seam::lock_guard lock{mutex_};
      count = take_outgoing();
    }
    if (count == 0) return;
    send_all({outgoing_.data(), count}, give_up);
  }
}

/// Brings bytes from the socket to OpenSSL; false when none came.
bool tls_stream::fetch(time_point until) {
  const std::size_t count = receive(incoming_, until);
  const seam::lock_guard lock{mutex_};
  if (count > 0) {
    BIO_write(SSL_get_rbio(session_.get()), incoming_.data(), static_cast<int>(count));
  }
  return count > 0;
}

void tls_stream::shake_hands(time_point give_up) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(session_.get());
    const int what = done == 1 ? SSL_ERROR_NONE : SSL_get_error(session_.get(), done);
    if (what != SSL_ERROR_NONE && what != SSL_ERROR_WANT_READ) {
      try {
        flush(time_point{});  // the alert, so that the server's log has the reason
      } catch (const error&) {
      }
      fail(what);
    }
    flush(give_up);
    if (what == SSL_ERROR_NONE) return;
    if (!fetch(give_up)) {
      throw make_error(errc::unreachable,
                       peer() +
                           " did not answer in time when TLS was to begin; is that the port "
                           "for TLS?",
                       ETIMEDOUT);
    }
  }
}

/// One record of it, into outgoing_.
std::size_t tls_stream::encrypt(std::string_view& bytes) {
  const auto part = bytes.substr(0, record_bytes);
  const seam::lock_guard lock{mutex_};
  ERR_clear_error();
  const int taken = SSL_write(session_.get(), part.data(), static_cast<int>(part.size()));
  if (taken <= 0) fail(SSL_get_error(session_.get(), taken));
  bytes.remove_prefix(static_cast<std::size_t>(taken));
  return take_outgoing();
}

void tls_stream::write_all(std::string_view bytes, time_point give_up) {
  if (!rest_.empty()) send_all(std::exchange(rest_, {}), give_up);
  while (!bytes.empty()) {
    const std::size_t count = encrypt(bytes);
    try {
      send_all({outgoing_.data(), count}, give_up);
    } catch (const error&) {
      look_for_parting_words();
      throw;
    }
    // Rarely more: what a read left behind came before it.
    if (count == outgoing_.size()) flush(give_up);
  }
}

/// What is encrypted has been taken: its place in the stream of records is fixed.
std::size_t tls_stream::write_some(std::string_view bytes) {
  const std::size_t offered = bytes.size();
  for (;;) {
    rest_.erase(0, send_some(rest_));
    if (!rest_.empty()) break;
    std::size_t count = 0;
    if (bytes.empty()) {
      const seam::lock_guard lock{mutex_};
      count = take_outgoing();
    } else {
      count = encrypt(bytes);
    }
    if (count == 0) break;
    rest_.assign(outgoing_.data(), count);
  }
  return offered - bytes.size();
}

/// In TLS 1.3 a server judges our certificate when for us the handshake is over. It may have said
/// what is wrong and hung up before our first words. Later nobody would be told of it that way, and
/// another thread may be reading.
void tls_stream::look_for_parting_words() {
  {
    const seam::lock_guard lock{mutex_};
    if (heard_) return;
  }
  std::array<char, 64> ignored;
  bool more = false;
  try {
    more = fetch(time_point{});
  } catch (const error&) {
  }
  if (more) (void)decrypt(ignored);
}

/// How many bytes; 0 when OpenSSL has to be fed first.
int tls_stream::decrypt(std::span<char> to) {
  const seam::lock_guard lock{mutex_};
  ERR_clear_error();
  const int most = static_cast<int>(std::min(to.size(), std::size_t{1} << 30));
  const int count = SSL_read(session_.get(), to.data(), most);
  if (count > 0) {
    heard_ = true;
    return count;
  }
  const int what = SSL_get_error(session_.get(), count);
  if (what != SSL_ERROR_WANT_READ) fail(what);
  return 0;
}

std::size_t tls_stream::read_some(std::span<char> to, time_point until) {
  for (;;) {
    const int count = decrypt(to);
    if (count > 0) return static_cast<std::size_t>(count);
    if (!fetch(until)) return 0;
  }
}

bool tls_stream::read_ahead() const noexcept {
  const seam::lock_guard lock{mutex_};
  return SSL_has_pending(session_.get()) != 0 || BIO_ctrl_pending(SSL_get_rbio(session_.get())) > 0;
}

/// Called for anything that is neither success nor a need for more bytes.
void tls_stream::fail(int what) {
  const unsigned long code = take_tls_error();
  const auto native = static_cast<long>(code);
  if (what == SSL_ERROR_ZERO_RETURN) {
    throw make_error(errc::unreachable, peer() + " closed the connection", ECONNRESET);
  }
  const long verdict = SSL_get_verify_result(session_.get());
  if (verdict != X509_V_OK) {
    throw make_error(errc::denied,
                     "the certificate of " + peer() + " is not accepted for '" + name_ + "': " +
                         X509_verify_cert_error_string(verdict) + " (see ca and server_name)",
                     verdict);
  }
  switch (ERR_GET_REASON(code)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      throw make_error(errc::protocol, peer() + " does not speak TLS on that port", native);
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      throw make_error(
          errc::denied,
          peer() + " does not accept us: " + tls_error_text(code) + " (see cert and key)", native);
    default:
      throw make_error(errc::unreachable, "TLS with " + peer() + " failed: " + tls_error_text(code),
                       native);
  }
}

}  // namespace

std::unique_ptr<stream> connect_tls(int descriptor, const address& to, seam::clock& clock,
                                    time_point give_up) {
  auto made = std::make_unique<tls_stream>(descriptor, to, clock);
  made->shake_hands(give_up);
  return made;
}

}  // namespace crosslock::redis
