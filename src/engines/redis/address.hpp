// Where a Redis server is, and as whom to speak to it.
#pragma once

#include "engine/url.hpp"

#include <cstdint>
#include <string>

namespace crosslock::redis {

struct address {
  std::string host{};  ///< a name, or an IPv4 or IPv6 address; empty with a unix socket
  std::uint16_t port = 6379;
  std::string unix_path{};  ///< empty with TCP
  bool tls = false;
  std::string user{};      ///< empty: the server's default user
  std::string password{};  ///< never shown
  std::uint32_t database = 0;
  std::string ca_file{};    ///< empty: the certificates that this machine trusts
  std::string cert_file{};  ///< with key_file: how we show who we are
  std::string key_file{};
  std::string server_name{};  ///< what the server's certificate must be for; empty: the host

  bool operator==(const address&) const = default;
  bool has_credentials() const noexcept { return !user.empty() || !password.empty(); }
  /// The name to compare the server's certificate with.
  const std::string& certified_name() const noexcept {
    return server_name.empty() ? host : server_name;
  }
  /// For people: `redis://10.0.0.5:6379/2`. Without user and password.
  std::string shown() const;
};

/// Takes out of the URL what is said here about its parameters:
/// - `redis://[user[:password]@]host[:port][/database]`;
/// - `rediss://` likewise, by TLS, with `ca`, `cert`, `key` (PEM files) and `server_name`;
/// - `redis+unix:///path/of/socket` with `db`, `user` and `password`.
/// Throws `invalid_url`, which quotes no password.
address read_address(seam::url& url);

}  // namespace crosslock::redis
