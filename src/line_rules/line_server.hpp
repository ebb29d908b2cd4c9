// The rules of one name: who goes in, who waits, whose time is over; and those of its cell. They
// stand here once, over rows: engines that decide on the client keep the rows and do the I/O. The
// Redis scripts restate them.
#pragma once

#include "line_rules/line_rule.hpp"
#include "line_rules/refusals.hpp"
#include "line_rules/rows.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace crosslock::seam {

/// Waiters of one name; one more is `queue_full`.
inline constexpr std::int64_t line_max = 8192;

/// Those so near to their turn watch whether the holder lives. Few are enough, and a long line
/// costs no more than a short one.
inline constexpr std::int64_t near_places = 4;

/// What a grant consists of.
struct given {
  crosslock::fence first;
  crosslock::fence last;
  duration lease{};
  bool wanted = false;  ///< somebody who lives waits behind it
};

struct ask_answer {
  ask_result result = ask_result::busy;
  given granted;             ///< when granted
  ticket_number ticket = 0;  ///< when in line
  duration look_after{};     ///< when in line
  bool near = false;         ///< when in line: only few are before it
};

struct renew_outcome {
  bool renewed = false;
  duration lease{};
  crosslock::fence more_first;
  crosslock::fence more_last;
  bool wanted = false;
};

struct release_outcome {
  release_answer answer = release_answer::not_owner;
  bool left_alone = true;  ///< nobody is on the name any more
};

/// Something that a client should hear. A hint: each may be lost, late, or repeated.
struct news {
  enum class kind { granted, look_again, wanted, revoked, cell_changed };

  kind what = kind::look_again;
  client_number to = 0;  ///< cell_changed: whoever watches it
  name_ref name;
  owner_id owner{};          ///< none when it is about a cell
  ticket_number ticket = 0;  ///< granted: which stay in the line has ended so
  given offer;               ///< granted
};

std::string_view to_string(news::kind what) noexcept;

/// Each verb first drops what has ended on its name, then does its own work, then serves the line;
/// so a holder that died needs no timer: the next request finds it gone. Every verb can be repeated
/// at any later time without harm, because it compares the owner id first. look() and list() change
/// nothing, and show what serving the line would give.
/// Not thread-safe. Lives for one transaction of the rows, or shorter.
class line_server {
 public:
  explicit line_server(rows& rows, std::int64_t longest_line = line_max)
      : rows_{rows}, longest_line_{longest_line} {}

  /// On whose behalf the next calls are.
  void act_for(client_number client, who_ref who = {}) {
    from_ = client;
    who_ = std::move(who);
  }

  std::variant<ask_answer, refusal> ask(const claim& claim, const remembered& before = {});
  /// `offer_of` not zero: gives back only the offer of that ticket, as long as nobody has taken it
  /// up.
  void withdraw(const name_ref& name, const owner_id& owner, const remembered& before = {},
                ticket_number offer_of = 0);
  renew_outcome renew(const renew_item& item);
  /// An outcome for each, in their order.
  std::vector<renew_outcome> renew(std::span<const renew_item> items);
  release_outcome release(const name_ref& name, const owner_id& owner, fence proof);
  std::optional<given> adopt(const owner_id& detached, fence proof, const claim& next);
  bool break_lock(const name_ref& name, const owner_id& owner);
  lock_info look(std::string_view name);
  std::vector<lock_info> list(std::string_view prefix);

  swap_answer swap_cell(const cell_swap& wanted);
  std::optional<cell> open_cell(const name_ref& name, fence token);

  /// Who is to be told once all this is kept.
  std::vector<news> take_news() noexcept {
    std::vector<news> taken;
    taken.swap(news_);
    return taken;
  }

 private:
  class walk;

  // The verbs (line_server.cpp).
  std::variant<ask_answer, refusal> answer(name_state& at, const claim& claim);
  void refresh_place(name_state& at, const claim& claim);
  std::variant<ask_answer, refusal> admit_newcomer(name_state& at, const claim& claim);
  std::variant<ask_answer, refusal> enter_line(name_state& at, const claim& claim);
  ask_answer granted(name_state& at, const holder& mine, duration lease);
  renew_outcome renew_among_others(const renew_item& item);
  renew_outcome renew(name_state& at, const renew_item& item);
  std::optional<given> adopt(name_state& at, const owner_id& detached, fence proof,
                             const claim& next);

  // What happens to one name (serving.cpp).
  void drop_expired(name_state& at);
  /// Also those whose process is dead, for whoever wants the name: it costs a look at each, so one
  /// who has come in so lately is left to those who watch it from the line.
  void drop_ended(name_state& at, duration lately);
  void drop_ended_places(name_state& at);
  /// Hands the name to whoever may go in. `asking` hears the reply: it needs no news.
  void serve(name_state& at, const owner_id& asking = {});
  /// Whether anybody who lives stands in line; drops the dead before the first of them.
  bool anyone_waits(name_state& at);
  bool stands(const waiter& one);
  bool conflicts(name_state& at, const claim& upgrade);
  holder& grant(name_state& at, holder fresh);
  std::pair<std::int64_t, std::int64_t> take_block(name_state& at);
  void extend(holder& one, duration lease);
  ask_answer in_line(name_state& at, const waiter& mine);
  server_time later(duration span);
  lock_info look(name_state& seen, std::string_view name);
  lock_info inspect(name_state& at, std::string_view name);

  rows& rows_;
  const std::int64_t longest_line_;
  client_number from_ = 0;
  who_ref who_;
  std::vector<news> news_;
};

}  // namespace crosslock::seam
