#include "engines/redis/address.hpp"

#include "engine/url_values.hpp"
#include "engines/redis/failure.hpp"

#include <sys/un.h>

#include <array>
#include <optional>
#include <string_view>

namespace crosslock::redis {
namespace {

constexpr std::uint32_t database_max = (std::uint32_t{1} << 31) - 1;
constexpr std::array<std::string_view, 4> tls_parameters{"ca", "cert", "key", "server_name"};

[[noreturn]] void refuse(const std::string& text) { throw make_error(errc::invalid_url, text); }

std::uint32_t parse_database(std::string_view digits) {
  const auto number = seam::parse_unsigned(digits);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  if (!number || *number > database_max || padded) {
    refuse("the database is not a whole number from 0 to " + std::to_string(database_max));
  }
  return static_cast<std::uint32_t>(*number);
}

/// A parameter that names something; an empty name is a mistake.
std::string take_text(seam::url& url, std::string_view name) {
  auto text = url.take(name);
  if (!text) return {};
  if (text->empty()) refuse("the parameter " + std::string{name} + " is empty");
  return std::move(*text);
}

void take_tls_parameters(seam::url& url, address& to) {
  to.ca_file = take_text(url, "ca");
  to.cert_file = take_text(url, "cert");
  to.key_file = take_text(url, "key");
  to.server_name = take_text(url, "server_name");
  if (to.cert_file.empty() != to.key_file.empty()) {
    refuse("cert and key, the client's certificate and its private key, go together");
  }
}

void refuse_tls_parameters(const seam::url& url) {
  for (const auto& [name, value] : url.parameters) {
    for (const std::string_view known : tls_parameters) {
      if (name == known) refuse("the parameter " + name + " is about TLS: write rediss://");
    }
  }
}

void read_socket(seam::url& url, address& to) {
  if (!url.hosts.empty()) {
    refuse("a socket is on this machine: three slashes, redis+unix:///path/of/socket");
  }
  if (!url.path.starts_with('/')) {
    refuse("expected the absolute path of a socket: redis+unix:///path/of/socket");
  }
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (url.path.size() > longest) {
    refuse("the path of a unix socket has at most " + std::to_string(longest) + " bytes");
  }
  to.unix_path = url.path;
  if (const auto database = url.take("db")) to.database = parse_database(*database);
  if (const auto user = take_text(url, "user"); !user.empty()) to.user = user;
  if (const auto password = url.take("password")) to.password = *password;
}

void read_host(const seam::url& url, address& to) {
  seam::require_hosts(url);
  if (url.hosts.size() > 1) {
    refuse(
        "more than one host. Sentinel and Cluster are not supported yet: name the primary itself");
  }
  const auto& host = url.hosts.front();
  if (host.name.starts_with('/')) refuse("for a unix socket write redis+unix:///path/of/socket");
  to.host = host.name;
  to.port = host.port.value_or(to.port);
  const std::string_view path = url.path;
  if (path.size() > 1) to.database = parse_database(path.substr(1));
}

}  // namespace

std::string address::shown() const {
  seam::url url;
  if (unix_path.empty()) {
    url.scheme = tls ? "rediss" : "redis";
    url.hosts.push_back({host, port});
    url.path = '/';
    url.path += std::to_string(database);
  } else {
    url.scheme = "redis+unix";
    url.path = unix_path;
    if (database != 0) url.parameters.emplace_back("db", std::to_string(database));
  }
  return url.redacted();
}

address read_address(seam::url& url) {
  address to;
  to.user = url.user;
  to.password = url.password.value_or("");
  to.tls = url.scheme == "rediss";
  if (to.tls) {
    take_tls_parameters(url, to);
  } else {
    refuse_tls_parameters(url);
  }
  if (url.scheme == "redis+unix") {
    read_socket(url, to);
  } else {
    read_host(url, to);
  }
  return to;
}

}  // namespace crosslock::redis
