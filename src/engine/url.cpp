// The parser walks the text once from left to right. It is stricter than RFC 3986 where leniency
// could hide a mistake or show a password:
// - A raw '@' is legal only behind user and password. So a password with an unescaped '/' or '?'
//   makes the URL invalid, rather than becoming a path or a parameter that is shown somewhere.
// - Errors say where and what was expected, and quote nothing of the text.
#include "engine/url.hpp"

#include <crosslock/error.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace crosslock::seam {
namespace {

constexpr std::size_t max_bytes = 64 * 1024;
constexpr std::size_t max_parameters = 64;
constexpr auto npos = std::string_view::npos;

bool letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool unreserved(char c) noexcept {
  return letter(c) || digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}
bool host_letter(char c) noexcept { return unreserved(c) && c != '~'; }
bool control(char c) noexcept { return (c >= 0 && c < 0x20) || c == 0x7f; }
char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// What may stand for itself in a user, password, path or value. Bytes beyond ASCII may, too.
bool raw(char c) noexcept {
  constexpr std::string_view others = "!$&'()*+,;=:/";
  return unreserved(c) || others.find(c) != npos || static_cast<unsigned char>(c) >= 0x80;
}

int hex(char c) noexcept {
  if (digit(c)) return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

[[noreturn]] void refuse(std::size_t at, std::string_view expected) {
  throw error{errc::invalid_url, "crosslock URL, byte offset " + std::to_string(at) +
                                     ": expected " + std::string{expected}};
}

class parser {
 public:
  explicit parser(std::string_view text) : text_{text} {}

  url parse() {
    if (text_.size() > max_bytes) refuse(max_bytes, "the end: a URL has at most 65536 bytes");
    read_scheme();
    const bool opaque = text_.substr(at_, 2) != "//";
    if (!opaque) read_authority();
    read_path();
    if (at_ < text_.size()) read_parameters();
    return std::move(out_);
  }

 private:
  char peek(std::size_t at) const noexcept { return at < text_.size() ? text_[at] : '\0'; }

  /// The nearest of `marks` from `from` on, or `end`.
  std::size_t find(std::string_view marks, std::size_t from, std::size_t end) const noexcept {
    return std::min(text_.find_first_of(marks, from), end);
  }

  std::string decode(std::size_t begin, std::size_t end) const {
    std::string out;
    for (auto at = begin; at < end; ++at) {
      char c = text_[at];
      const auto start = at;
      if (c == '%') {
        const int high = at + 2 < end ? hex(text_[at + 1]) : -1;
        const int low = at + 2 < end ? hex(text_[at + 2]) : -1;
        if (high < 0 || low < 0) refuse(at, "two hexadecimal digits after '%'");
        c = static_cast<char>(high * 16 + low);
        at += 2;
      } else if (!raw(c)) {
        refuse(at, "no such character here, or written as %XX");
      }
      if (control(c)) refuse(start, "no control character");
      out += c;
    }
    return out;
  }

  void read_scheme() {
    if (!letter(peek(0))) refuse(0, "a scheme, which begins with a letter");
    while (at_ < text_.size() && text_[at_] != ':') {
      const char c = text_[at_];
      if (!letter(c) && !digit(c) && c != '+' && c != '-' && c != '.') {
        refuse(at_, "':' after the scheme");
      }
      out_.scheme += lower(c);
      ++at_;
    }
    if (at_ == text_.size()) refuse(at_, "':' after the scheme");
    ++at_;
  }

  void read_authority() {
    at_ += 2;
    const auto end = find("/?#", at_, text_.size());
    const auto sign = find("@", at_, end);
    if (sign < end) {
      if (const auto second = find("@", sign + 1, end); second < end) {
        refuse(sign, "%40 for an '@' in user or password");
      }
      read_user(sign);
    }
    // Three slashes: no host, only a path.
    if (at_ == end && sign == end && peek(at_) == '/') return;
    do {
      read_host(end);
    } while (at_ < end && text_[at_++] == ',');
  }

  void read_user(std::size_t sign) {
    const auto colon = find(":", at_, sign);
    out_.user = decode(at_, colon);
    if (colon < sign) {
      out_.password = decode(colon + 1, sign);
    } else if (out_.user.empty()) {
      refuse(at_, "a user before '@'");
    }
    at_ = sign + 1;
  }

  /// Reads one host and its port, and stops at a comma or at `end`.
  void read_host(std::size_t end) {
    url::host host;
    host.name = peek(at_) == '[' && at_ < end ? bracketed(end) : plain_host(end);
    if (at_ < end && text_[at_] == ':') host.port = read_port(end);
    if (at_ < end && text_[at_] != ',') refuse(at_, "':', ',', '/' or the end after a host");
    out_.hosts.push_back(std::move(host));
  }

  std::string plain_host(std::size_t end) {
    const auto begin = at_;
    at_ = find(":,", begin, end);
    auto name = decode(begin, at_);
    if (name.empty()) refuse(begin, "a host");
    // As in the URLs of libpq, an encoded path is the directory of a local socket.
    if (name.front() != '/' && !std::all_of(name.begin(), name.end(), host_letter)) {
      refuse(begin, "a host of letters, digits, '-', '.' and '_', or [IPv6 address]");
    }
    return name;
  }

  std::string bracketed(std::size_t end) {
    const auto begin = at_ + 1;
    const auto close = find("]", begin, end);
    if (close == end) refuse(begin - 1, "']' after an IPv6 address");
    const auto zone = find("%", begin, close);
    std::string name{text_.substr(begin, zone - begin)};
    std::array<unsigned char, 16> ignored{};
    const bool has_nul = name.find('\0') != npos;
    if (has_nul || inet_pton(AF_INET6, name.c_str(), ignored.data()) != 1) {
      refuse(begin, "an IPv6 address");
    }
    if (zone < close) {
      const auto word = text_.substr(zone, close - zone);
      if (!word.starts_with("%25") || word.size() == 3 ||
          !std::all_of(word.begin() + 3, word.end(), unreserved)) {
        refuse(zone, "%25 and the name of a network interface");
      }
      name += '%';
      name += word.substr(3);
    }
    at_ = close + 1;
    return name;
  }

  std::uint16_t read_port(std::size_t end) {
    const auto begin = ++at_;
    unsigned value = 0;
    for (; at_ < end && digit(text_[at_]) && value <= 65535; ++at_) {
      value = value * 10 + static_cast<unsigned>(text_[at_] - '0');
    }
    const bool more = at_ < end && text_[at_] != ',';
    if (value < 1 || value > 65535 || more || text_[begin] == '0') {
      refuse(begin, "a port from 1 to 65535");
    }
    return static_cast<std::uint16_t>(value);
  }

  void read_path() {
    const auto end = find("?", at_, text_.size());
    out_.path = decode(at_, end);
    at_ = end;
  }

  void read_parameters() {
    while (at_ < text_.size()) {
      const auto begin = ++at_;  // behind '?' or '&'
      const auto end = find("&", begin, text_.size());
      const auto equals = find("=", begin, end);
      const auto name = text_.substr(begin, equals - begin);
      if (name.empty()) refuse(begin, "the name of a parameter");
      if (!std::all_of(name.begin(), name.end(), host_letter)) {
        refuse(begin, "a parameter name of letters, digits, '-', '.' and '_'");
      }
      if (equals == end) refuse(end, "'=' after the name of a parameter");
      const auto same = [&](const auto& known) { return known.first == name; };
      if (std::any_of(out_.parameters.begin(), out_.parameters.end(), same)) {
        refuse(begin, "each parameter only once");
      }
      if (out_.parameters.size() == max_parameters) refuse(begin, "at most 64 parameters");
      out_.parameters.emplace_back(name, decode(equals + 1, end));
      at_ = end;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  url out_;
};

std::string encode(std::string_view text, std::string_view kept) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (unreserved(c) || kept.find(c) != npos) {
      out += c;
    } else {
      const auto byte = static_cast<std::uint8_t>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

/// Drivers take credentials as parameters, too (libpq: `password`, `sslpassword`).
bool secret(std::string_view name) {
  std::string small{name};
  std::transform(small.begin(), small.end(), small.begin(), lower);
  constexpr std::array<std::string_view, 4> words{"pass", "pwd", "secret", "token"};
  return std::any_of(words.begin(), words.end(),
                     [&](auto word) { return small.find(word) != npos; });
}

std::string shown(const url::host& host) {
  const bool ipv6 = host.name.find(':') != npos && !host.name.starts_with('/');
  auto text = ipv6 ? '[' + encode(host.name, ":") + ']' : encode(host.name, "");
  if (host.port) text += ':' + std::to_string(*host.port);
  return text;
}

}  // namespace

std::optional<std::string> url::take(std::string_view name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& one) { return one.first == name; });
  if (found == parameters.end()) return std::nullopt;
  auto value = std::move(found->second);
  parameters.erase(found);
  return value;
}

std::string url::redacted() const {
  std::string text = scheme + ':';
  if (!hosts.empty() || path.starts_with('/')) text += "//";
  if (!user.empty() || password) {
    text += encode(user, "");
    text += password ? ":***@" : "@";
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (i > 0) text += ',';
    text += shown(hosts[i]);
  }
  text += encode(path, "/:,=+");
  char before = '?';
  for (const auto& [name, value] : parameters) {
    text += before + encode(name, "") + '=' + (secret(name) ? "***" : encode(value, "/:,=+"));
    before = '&';
  }
  return text;
}

url parse_url(std::string_view text) { return parser{text}.parse(); }

void refuse_leftovers(const url& url) {
  if (url.parameters.empty()) return;
  const auto name = encode(url.parameters.front().first.substr(0, 64), "");
  throw error{errc::invalid_url,
              "unknown parameter \"" + name + "\" in a URL of scheme \"" + url.scheme + '"'};
}

}  // namespace crosslock::seam
