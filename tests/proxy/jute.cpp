// Which request answers to which xid is all that the proxy must know; words are for the rules.
#include "proxy/jute.hpp"

#include "proxy/framing.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace crosslock::proxy {
namespace {

constexpr std::size_t length_bytes = 4;
/// Longer ones are no messages: four letters sent to the port of a server are such a length.
constexpr std::size_t longest = std::size_t{1} << 26;
/// A handshake, without and with a word about servers that only read.
constexpr std::size_t handshake_bytes = 36;

using words = std::vector<std::string>;

constexpr std::pair<jute_op, const char*> names[] = {
    {jute_op::create, "create"},
    {jute_op::remove, "delete"},
    {jute_op::exists, "exists"},
    {jute_op::get_data, "getData"},
    {jute_op::set_data, "setData"},
    {jute_op::get_acl, "getACL"},
    {jute_op::set_acl, "setACL"},
    {jute_op::get_children, "getChildren"},
    {jute_op::sync, "sync"},
    {jute_op::ping, "ping"},
    {jute_op::get_children2, "getChildren2"},
    {jute_op::check, "check"},
    {jute_op::multi, "multi"},
    {jute_op::create2, "create2"},
    {jute_op::check_watches, "checkWatches"},
    {jute_op::remove_watches, "removeWatches"},
    {jute_op::create_container, "createContainer"},
    {jute_op::create_ttl, "createTTL"},
    {jute_op::multi_read, "multiRead"},
    {jute_op::auth, "auth"},
    {jute_op::set_watches, "setWatches"},
    {jute_op::set_watches2, "setWatches2"},
    {jute_op::add_watch, "addWatch"},
    {jute_op::close, "close"},
};

void skip_rights(jute_reader& body) {
  for (std::int32_t left = body.number(); left > 0; --left) {
    body.number();
    body.text();
    body.text();
  }
}

/// One part of a multi: past its end, with what and where it is added to `said`.
void read_part(jute_reader& body, jute_op what, words& said) {
  said.push_back(name_of(what));
  said.push_back(body.text());
  switch (what) {
    case jute_op::create:
    case jute_op::create2:
    case jute_op::create_container:
    case jute_op::create_ttl:
      body.text();
      skip_rights(body);
      body.number();
      if (what == jute_op::create_ttl) body.long_number();
      return;
    case jute_op::set_data:
      body.text();
      body.number();
      return;
    default:  // delete, check
      body.number();
  }
}

words words_of_multi(jute_reader& body) {
  words said{"multi"};
  for (;;) {
    const auto what = static_cast<jute_op>(body.number());
    const bool last = body.flag();
    body.number();
    if (last) return said;
    read_part(body, what, said);
  }
}

words words_of_request(std::string_view message) {
  jute_reader body{message.substr(length_bytes)};
  body.number();  // xid
  const auto what = static_cast<jute_op>(body.number());
  switch (what) {
    case jute_op::multi:
      return words_of_multi(body);
    case jute_op::ping:
    case jute_op::auth:  // with a password
    case jute_op::close:
    case jute_op::multi_read:
    case jute_op::set_watches:
    case jute_op::set_watches2:
      return {name_of(what)};
    default:
      break;
  }
  words said{name_of(what), body.text()};
  const bool may_watch = what == jute_op::exists || what == jute_op::get_data ||
                         what == jute_op::get_children || what == jute_op::get_children2;
  if (may_watch && body.flag()) said.emplace_back("watch");
  return said;
}

/// What a push says: what has happened, and where.
words words_of_event(std::string_view message) {
  jute_reader body{message.substr(length_bytes)};
  body.number();
  body.long_number();
  body.number();
  const std::int32_t type = body.number();
  body.number();  // the state of the session
  const std::string path = body.text();
  switch (type) {
    case 1:
      return {"event", "created", path};
    case 2:
      return {"event", "deleted", path};
    case 3:
      return {"event", "changed", path};
    case 4:
      return {"event", "children", path};
    default:
      return {"event", std::to_string(type), path};
  }
}

/// Without its length; empty when not all of it has come.
std::optional<std::size_t> size_of_first(std::string_view bytes) {
  if (bytes.size() < length_bytes) return std::nullopt;
  const auto length = static_cast<std::size_t>(jute_reader{bytes}.number());
  if (length > longest) throw std::runtime_error{"no message is that long"};
  if (bytes.size() < length_bytes + length) return std::nullopt;
  return length_bytes + length;
}

frame request_frame(bool greeted, std::string_view message) {
  if (!greeted) return {.bytes = message.size(), .words = {"connect"}, .subscribes = true};
  const std::int32_t xid = jute_reader{message.substr(length_bytes)}.number();
  return {.bytes = message.size(), .words = words_of_request(message), .label = xid};
}

frame answer_frame(std::string_view message) {
  const std::int32_t xid = jute_reader{message.substr(length_bytes)}.number();
  if (xid != jute_push) return {.bytes = message.size(), .label = xid};
  return {.bytes = message.size(), .words = words_of_event(message), .push = true};
}

}  // namespace

std::string name_of(jute_op what) {
  for (const auto& [each, name] : names) {
    if (each == what) return name;
  }
  return std::to_string(static_cast<std::int32_t>(what));
}

jute_writer& jute_writer::number(std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  for (int shift = 24; shift >= 0; shift -= 8) bytes_.push_back(static_cast<char>(bits >> shift));
  return *this;
}

jute_writer& jute_writer::long_number(std::int64_t value) {
  number(static_cast<std::int32_t>(value >> 32));
  return number(static_cast<std::int32_t>(value));
}

jute_writer& jute_writer::flag(bool value) {
  bytes_.push_back(value ? '\1' : '\0');
  return *this;
}

jute_writer& jute_writer::text(std::string_view value) {
  number(static_cast<std::int32_t>(value.size()));
  bytes_.append(value);
  return *this;
}

jute_writer& jute_writer::add(const jute_writer& more) {
  bytes_ += more.bytes_;
  return *this;
}

std::string jute_writer::message() const { return jute_writer{}.text(bytes_).bytes_; }

std::uint64_t jute_reader::take(std::size_t bytes) {
  if (rest_.size() < bytes) throw std::runtime_error{"a message is cut short"};
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(rest_[i]);
  rest_.remove_prefix(bytes);
  return value;
}

std::string jute_reader::text() {
  const std::int32_t length = number();
  if (length < 0) return {};
  const auto size = static_cast<std::size_t>(length);
  if (rest_.size() < size) throw std::runtime_error{"a message is cut short"};
  std::string value{rest_.substr(0, size)};
  rest_.remove_prefix(size);
  return value;
}

std::optional<jute_answer> jute_answer_in(std::string_view message) {
  constexpr std::size_t header = 16;
  if (message.size() < length_bytes + header || jute_handshake_in(message)) return std::nullopt;
  jute_reader body{message.substr(length_bytes)};
  jute_answer found;
  found.xid = body.number();
  found.zxid = body.long_number();
  found.error = body.number();
  return found;
}

std::optional<jute_session> jute_handshake_in(std::string_view message) {
  const std::size_t size = message.size() - std::min(message.size(), length_bytes);
  if (size != handshake_bytes && size != handshake_bytes + 1) return std::nullopt;
  jute_reader body{message.substr(length_bytes)};
  // The version of the protocol, where an answer has its xid; clients do not count from 0.
  if (body.number() != 0) return std::nullopt;
  jute_session found;
  found.timeout_ms = body.number();
  found.id = body.long_number();
  found.password = body.text();
  return found;
}

std::optional<frame> jute_framing(way going, bool greeted, std::string_view bytes) {
  try {
    const auto size = size_of_first(bytes);
    if (!size) return std::nullopt;
    const std::string_view message = bytes.substr(0, *size);
    return going == way::to_server ? request_frame(greeted, message) : answer_frame(message);
  } catch (const std::runtime_error&) {
    return raw_framing(going, greeted, bytes);
  }
}

}  // namespace crosslock::proxy
