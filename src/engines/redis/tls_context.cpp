#include "engines/redis/tls_context.hpp"

#include "engines/redis/failure.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>

namespace crosslock::redis {
namespace {

[[noreturn]] void refuse_tls(const std::string& what) {
  const unsigned long code = take_tls_error();
  throw make_error(errc::denied, what + ": " + tls_error_text(code), static_cast<long>(code));
}

void trust(SSL_CTX* context, const address& to) {
  if (to.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) {
      refuse_tls("the certificates that this machine trusts cannot be read");
    }
  } else if (SSL_CTX_load_verify_file(context, to.ca_file.c_str()) != 1) {
    refuse_tls("ca: no certificate can be read from '" + to.ca_file + "'");
  }
}

void identify(SSL_CTX* context, const address& to) {
  if (to.cert_file.empty()) return;
  if (SSL_CTX_use_certificate_chain_file(context, to.cert_file.c_str()) != 1) {
    refuse_tls("cert: no certificate can be read from '" + to.cert_file + "'");
  }
  if (SSL_CTX_use_PrivateKey_file(context, to.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    refuse_tls("key: no private key that fits the certificate can be read from '" + to.key_file +
               "'");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    refuse_tls("key: the key in '" + to.key_file + "' is not that of the certificate");
  }
}

/// An address is compared with the addresses in a certificate, a name with its names.
bool is_ip_address(const std::string& name) noexcept {
  std::array<unsigned char, 16> ignored{};
  return inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

void expect_name(SSL* session, std::string name) {
  name = name.substr(0, name.find('%'));  // the interface of a link-local address
  bool known = false;
  if (is_ip_address(name)) {
    known = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1;
  } else {
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    known = SSL_set1_host(session, name.c_str()) == 1 &&
            SSL_set_tlsext_host_name(session, name.c_str()) == 1;
  }
  if (!known) refuse_tls("the server's name '" + name + "' cannot be checked");
}

}  // namespace

unsigned long take_tls_error() noexcept {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  return code;
}

std::string tls_error_text(unsigned long code) {
  if (code == 0) return "no reason was given";
  if (ERR_SYSTEM_ERROR(code)) {
    return std::error_code{ERR_GET_REASON(code), std::generic_category()}.message();
  }
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

tls_context make_tls_context(const address& to) {
  // Static objects of the program may hold locks until its very end: OpenSSL must not take itself
  // down before.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ERR_clear_error();
  tls_context made{SSL_CTX_new(TLS_client_method())};
  if (!made || SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION) != 1) {
    refuse_tls("TLS cannot be set up");
  }
  // A renegotiation would want to write in the middle of a read.
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  // A key with a passphrase must not ask for it on the terminal of whoever holds a lock.
  SSL_CTX_set_default_passwd_cb(made.get(), [](char*, int, int, void*) { return -1; });
  trust(made.get(), to);
  identify(made.get(), to);
  return made;
}

tls_session make_tls_session(SSL_CTX* context, const address& to) {
  tls_session made{SSL_new(context)};
  BIO* const incoming = BIO_new(BIO_s_mem());
  BIO* const outgoing = BIO_new(BIO_s_mem());
  if (!made || incoming == nullptr || outgoing == nullptr) {
    BIO_free(incoming);
    BIO_free(outgoing);
    refuse_tls("TLS cannot be set up");
  }
  BIO_set_mem_eof_return(incoming, -1);  // empty means: come back later
  BIO_set_mem_eof_return(outgoing, -1);
  SSL_set_bio(made.get(), incoming, outgoing);
  SSL_set_connect_state(made.get());
  expect_name(made.get(), to.certified_name());
  return made;
}

}  // namespace crosslock::redis
