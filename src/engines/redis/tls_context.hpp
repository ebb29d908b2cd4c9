// What OpenSSL has to know before it talks to a server.
#pragma once

#include "engines/redis/address.hpp"

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace crosslock::redis {

struct tls_deleter {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* session) const noexcept { SSL_free(session); }
};
using tls_context = std::unique_ptr<SSL_CTX, tls_deleter>;
using tls_session = std::unique_ptr<SSL, tls_deleter>;

/// Reads the certificates and the key that the address names; throws `denied` naming a file that
/// is of no use.
tls_context make_tls_context(const address& to);

/// A session that will accept a server with the right name only, over two pieces of memory: OpenSSL
/// never sees the socket.
tls_session make_tls_session(SSL_CTX* context, const address& to);

/// The newest entry in OpenSSL's list of errors, which is emptied: number and words.
unsigned long take_tls_error() noexcept;
std::string tls_error_text(unsigned long code);

}  // namespace crosslock::redis
