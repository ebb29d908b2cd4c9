// How requests look on the wire, which keys they name, what refusals mean, and what is pushed.
#pragma once

#include "engine/claim.hpp"
#include "engines/redis/failure.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/scripts.hpp"
#include "line_rules/waiting_room.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::redis {

/// Something that can be put on the wire, more than once if need be.
class command {
 public:
  virtual ~command() = default;
  virtual void write(std::string& out) const = 0;
};

/// A command as it stands in Redis' documentation.
class plain_command final : public command {
 public:
  plain_command(std::initializer_list<std::string_view> words) : words_{words} {}
  void write(std::string& out) const override;

 private:
  const std::vector<std::string_view> words_;
};

/// Which keys a script is told. The other side keys of a lock lie in the same slot, and scripts
/// name them by themselves: every argument costs the server time.
enum class key_set {
  lock,         ///< the name and its fence
  lock_shared,  ///< with foreign=share: its pause as well
  cell,         ///< the cell alone
};

/// One script for one name. Everything it refers to must live until its answer is here.
class script_call final : public command {
 public:
  static constexpr std::size_t args_max = 5;

  script_call(const script& what, std::string_view name, key_set keys,
              std::initializer_list<std::string_view> args) noexcept;
  void write(std::string& out) const override;

  /// The server has forgotten the script: the next time its text is sent along.
  void send_text() noexcept { by_text_ = true; }
  void drop_last_argument() noexcept { --arg_count_; }

 private:
  const script* what_;
  std::string_view name_;
  key_set keys_;
  std::array<std::string_view, args_max> args_{};
  std::size_t arg_count_ = 0;
  bool by_text_ = false;
};

/// `crosslock:{tag}:kind:name`.
std::string side_key(std::string_view kind, std::string_view name);
/// The name in a key of that kind; empty when it is none.
std::string_view name_in_side_key(std::string_view kind, std::string_view key) noexcept;
/// Where the server sends the news for a client.
std::string channel_of(std::string_view client);

/// Values as words, without an allocation.
class word {
 public:
  static word owner(const owner_id& owner) noexcept;  ///< 32 hexadecimal digits
  /// `owner:fence`, as it stands at a name that one holds.
  static word holder(const owner_id& owner, crosslock::fence token) noexcept;
  static word fence(crosslock::fence token) noexcept;  ///< 19 digits
  static word number(std::uint64_t value) noexcept;
  /// In milliseconds, rounded up: the server must never count less than the client.
  static word milliseconds(duration span) noexcept;
  std::string_view view() const noexcept { return {text_.data(), length_}; }

 private:
  std::array<char, 52> text_{};
  std::size_t length_ = 0;
};

/// 'x', 's', 'p:k:n', or 'u' for an upgrade.
std::string demand_word(const seam::claim& claim);
/// The same for an ask: an upgrade names the grant it may stand beside, 'u:<owner>', and a '+'
/// follows when it may wait in line; a '*' when it does so without hearing what is pushed to it.
std::string asking_word(const seam::claim& claim, bool listens = true);

/// What the server says instead of an answer. `server` is named in the text.
error error_in(std::string_view failure, std::string_view server, std::string_view name);
/// What another library keeps under the name of a lock, by the type of the key: for people.
std::string keeps(std::string_view kind);
/// The server does not know the script by its number.
bool script_unknown(const reply& answer) noexcept;
/// What the other side has become makes it useless: another connection may lead to a better one.
bool needs_new_connection(std::string_view failure) noexcept;

/// Numbers from outside as spans of time. What is beyond all reason becomes the longest span that
/// can still be added to another one.
duration span_of_milliseconds(std::int64_t count) noexcept;
duration span_of_microseconds(std::int64_t count) noexcept;

/// News for this client.
struct push {
  /// unknown: of a newer version, which may have more to say.
  enum class kind { granted, look, wanted, revoked, cell_changed, unknown };

  kind what = kind::look;
  seam::pushed_grant about;  ///< name; of all but cells also the owner; of a grant also the rest
};

/// Throws `protocol` for a push of a known kind that is not as our scripts publish it.
push read_push(std::string_view message);

/// The last fence of the block that begins there.
fence last_of_block(fence first) noexcept;

/// Whether a renewal notes the name in the index, which keeps what was seen in use within a day:
/// when an hour has ended since the last one, by the grant's own count. Nobody keeps that in mind,
/// and renewals are a third of a lease apart.
bool name_is_due(fence first, duration lease, time_point now) noexcept;

}  // namespace crosslock::redis
