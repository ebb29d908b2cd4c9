// What clients and the memory server say to each other: one struct per verb, its reply, and the
// news the server sends unasked. Values only: any of these may be copied, delayed or repeated.
#pragma once

#include "engine/cell.hpp"
#include "engine/claim.hpp"
#include "engine/waiting_room.hpp"

#include <crosslock/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace crosslock::memory {

using client_id = std::uint64_t;

using seam::ticket_number;

/// The server's own time since some moment of its own. May step.
using server_time = duration;

/// user@host pid program: shared, because it comes with every claim.
using who_ref = std::shared_ptr<const std::string>;

struct ask_request {
  seam::claim claim;
  who_ref who;
};

struct withdraw_request {
  seam::name_ref name;
  owner_id owner;
  /// Not zero: gives back only the offer of this ticket, as long as nobody has taken it up.
  ticket_number offer_of = 0;
};

struct renew_item {
  seam::name_ref name;
  owner_id owner;
  crosslock::fence first;  ///< any fence of the grant; this and `last` are what mutant M3 stores
  crosslock::fence last;
  duration lease{};
  bool want_fences = false;
  bool share = false;  ///< an exclusive grant becomes a shared one
};

struct renew_request {
  std::vector<renew_item> items;
};

struct release_request {
  seam::name_ref name;
  owner_id owner;
  crosslock::fence fence;
};

struct adopt_request {
  owner_id detached;
  crosslock::fence fence;
  seam::claim next;
  who_ref who;
};

struct break_request {
  seam::name_ref name;
  owner_id owner;
};

struct look_request {
  seam::name_ref name;
};

struct list_request {
  std::string prefix;
};

struct read_cell_request {
  seam::name_ref name;
  duration watch{};  ///< not zero: for so long the next write is told to whoever reads
};

struct swap_cell_request {
  seam::cell_swap wanted;
};

struct open_cell_request {
  seam::name_ref name;
  crosslock::fence token;
};

/// In the order of `verb`.
using request = std::variant<ask_request, withdraw_request, renew_request, release_request,
                             adopt_request, break_request, look_request, list_request,
                             read_cell_request, swap_cell_request, open_cell_request>;

enum class verb {
  ask,
  withdraw,
  renew,
  release,
  adopt,
  break_lock,
  look,
  list,
  read_cell,
  swap_cell,
  open_cell,
};
inline constexpr std::size_t verb_count = 11;
static_assert(std::variant_size_v<request> == verb_count);

inline verb verb_of(const request& message) noexcept { return static_cast<verb>(message.index()); }
std::string_view to_string(verb what) noexcept;

/// What a grant consists of on the wire.
struct given {
  crosslock::fence first;
  crosslock::fence last;
  duration lease{};
  bool wanted = false;
};

struct ask_reply {
  seam::ask_result result = seam::ask_result::busy;
  given granted;             ///< when granted
  ticket_number ticket = 0;  ///< when in line
  duration look_after{};     ///< when in line
};

struct withdraw_reply {};

struct renew_outcome {
  bool renewed = false;
  duration lease{};
  crosslock::fence more_first;
  crosslock::fence more_last;
  bool wanted = false;
};

struct renew_reply {
  std::vector<renew_outcome> outcomes;  ///< one for each item, in order
};

struct release_reply {
  seam::release_answer answer = seam::release_answer::not_owner;
};

struct adopt_reply {
  bool adopted = false;
  given granted;
};

struct break_reply {
  bool broken = false;
};

struct look_reply {
  lock_info info;
};

struct list_reply {
  std::vector<lock_info> infos;
};

struct read_cell_reply {
  seam::cell found;
};

struct swap_cell_reply {
  seam::swap_answer answer;
};

struct open_cell_reply {
  std::optional<seam::cell> opened;
};

/// The server understood and says no. Nothing was changed.
struct refusal {
  errc code = errc::protocol;
  std::string text;
};

using reply = std::variant<ask_reply, withdraw_reply, renew_reply, release_reply, adopt_reply,
                           break_reply, look_reply, list_reply, read_cell_reply, swap_cell_reply,
                           open_cell_reply, refusal>;

/// News for one client about a claim or a cell. Hints: each may be lost, late, or repeated.
struct push {
  enum class kind { granted, look_again, wanted, revoked, cell_changed };

  kind what = kind::look_again;
  client_id to = 0;
  seam::name_ref name;
  owner_id owner{};          ///< none when it is about a cell
  ticket_number ticket = 0;  ///< granted: which stay in the line has ended so
  given offer;               ///< granted
};

std::string_view to_string(push::kind what) noexcept;

/// The news of kind `granted`.
seam::pushed_grant grant_in(const push& news);

/// An error of this engine.
error make_error(errc code, const std::string& text, bool outcome_unknown = false);

}  // namespace crosslock::memory
