// What clients and the memory server say to each other: one struct per verb, its reply, and the
// news the server sends unasked. Values only: any of these may be copied, delayed or repeated.
#pragma once

#include "engine/cell.hpp"
#include "engine/claim.hpp"
#include "line_rules/line_server.hpp"

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

using client_id = seam::client_number;

using seam::given;
using seam::refusal;
using seam::renew_item;
using seam::renew_outcome;
using seam::server_time;
using seam::ticket_number;
using seam::who_ref;
/// News for one client. Values, which may be copied, delayed and repeated like all messages.
using push = seam::news;

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

using ask_reply = seam::ask_answer;

struct withdraw_reply {};

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

using reply = std::variant<ask_reply, withdraw_reply, renew_reply, release_reply, adopt_reply,
                           break_reply, look_reply, list_reply, read_cell_reply, swap_cell_reply,
                           open_cell_reply, refusal>;

/// The news of kind `granted`.
seam::pushed_grant grant_in(const push& news);

/// An error of this engine.
error make_error(errc code, const std::string& text, bool outcome_unknown = false);

}  // namespace crosslock::memory
