// The protocol of ZooKeeper, as far as tests need it: numbers are big-endian, a text or a buffer is
// its length and its bytes, a message is its length and its body. The first message each way
// greets; every other request begins with a number (xid) that its answer repeats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::proxy {

enum class jute_op : std::int32_t {
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_acl = 6,
  set_acl = 7,
  get_children = 8,
  sync = 9,
  ping = 11,
  get_children2 = 12,
  check = 13,
  multi = 14,
  create2 = 15,
  check_watches = 17,
  remove_watches = 18,
  create_container = 19,
  create_ttl = 21,
  multi_read = 22,
  auth = 100,
  set_watches = 101,
  set_watches2 = 105,
  add_watch = 106,
  close = -11,
};

/// As ZooKeeper's own texts call it: "create2", "delete", "getChildren"; else its number.
std::string name_of(jute_op what);

/// Numbers in the place of an xid that are none.
inline constexpr std::int32_t jute_push = -1;
inline constexpr std::int32_t jute_ping = -2;
inline constexpr std::int32_t jute_auth = -4;
inline constexpr std::int32_t jute_set_watches = -8;

class jute_writer {
 public:
  jute_writer& number(std::int32_t value);
  jute_writer& long_number(std::int64_t value);
  jute_writer& flag(bool value);
  jute_writer& text(std::string_view value);
  jute_writer& add(const jute_writer& more);
  /// With the length in front.
  std::string message() const;

 private:
  std::string bytes_;
};

/// Throws std::runtime_error when there are too few bytes.
class jute_reader {
 public:
  explicit jute_reader(std::string_view bytes) : rest_{bytes} {}

  std::int32_t number() { return static_cast<std::int32_t>(take(4)); }
  std::int64_t long_number() { return static_cast<std::int64_t>(take(8)); }
  bool flag() { return take(1) != 0; }
  /// No text at all is an empty one.
  std::string text();
  std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::uint64_t take(std::size_t bytes);

  std::string_view rest_;
};

/// What stands at the beginning of an answer; the whole message is given. Empty for anything else,
/// such as a handshake.
struct jute_answer {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  std::int32_t error = 0;  ///< 0: none; -101: no such node; -110: there is one
};
std::optional<jute_answer> jute_answer_in(std::string_view message);

/// The server's handshake: whoever knows id and password of a session can take part in it.
struct jute_session {
  std::int64_t id = 0;  ///< 0: it has expired
  std::string password{};
  std::int32_t timeout_ms = 0;
};
std::optional<jute_session> jute_handshake_in(std::string_view message);

}  // namespace crosslock::proxy
