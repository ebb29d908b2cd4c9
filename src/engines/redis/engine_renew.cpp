// Renewals: as many as travel together, each with an outcome of its own.
#include "engines/redis/engine.hpp"
#include "engines/redis/lock_view.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace crosslock::redis {
namespace {

/// So many renewals travel together.
constexpr std::size_t renewals_at_once = 256;

/// What a renewal wants beside more time; see renew_held.lua.
std::string renewal_extras(const seam::renewal& one, time_point now) {
  std::string extras;
  if (one.want_fences) extras += 'f';
  if (one.held.offer) extras += 'o';
  if (one.share) extras += 's';
  if (name_is_due(one.held.first, one.lease, now)) extras += 'n';
  return extras;
}

}  // namespace

void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  for (const seam::renewal& one : batch) seam::refuse_lease(offered, one);
  while (!batch.empty()) {
    const auto part = batch.first(std::min(batch.size(), renewals_at_once));
    batch = batch.subspan(part.size());
    renew_part(part, give_up);
  }
}

/// One renewal as it travels.
struct engine::renewal_words {
  word holder;
  word lease;
  std::string more;
  bool open = true;  ///< not answered yet

  void write(std::string& out, const lock_name& name, key_set keys, bool by_text) const {
    script_call call{scripts().renew, name.view(), keys, {holder.view(), lease.view(), more}};
    if (more.empty()) call.drop_last_argument();
    if (by_text) call.send_text();
    call.write(out);
  }
};

void engine::renew_part(std::span<seam::renewal> part, time_point give_up) {
  std::vector<renewal_words> each;
  each.reserve(part.size());
  for (const seam::renewal& one : part) {
    each.push_back({word::holder(one.held.owner, one.held.first), word::milliseconds(one.lease),
                    renewal_extras(one, clock_.now())});
  }
  std::optional<error> moved;
  // Of those that the server did not understand the first brings the text for all: with each of
  // them it would be megabytes, too much to travel within a short lease.
  std::size_t with_text = part.size();
  for (std::size_t open = part.size(); open > 0;) {
    const time_point sent = clock_.now();
    const auto write = [&](std::string& out) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (each[i].open) each[i].write(out, *part[i].held.name, keys_, i == with_text);
      }
    };
    const auto answers = connection_.call_all(open, write, give_up);
    std::size_t next = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!each[i].open) continue;
      const reply& said = answers[next++];
      each[i].open = script_unknown(said) && i != with_text;
      if (each[i].open) continue;
      --open;
      part[i].sent = sent;
      note_renewal(said, part[i]);
      // Who renews only one hears why not; among many, each keeps its own outcome.
      const bool refused = said.failed() && part[i].outcome == seam::renewal::result::unknown;
      if (refused && part.size() == 1) refuse(said.failure(), part[i].held.name->view());
      if (refused && needs_new_connection(said.failure())) {
        moved = error_in(said.failure(), connection_.where().shown(), {});
      }
    }
    with_text = static_cast<std::size_t>(std::ranges::find(each, true, &renewal_words::open) -
                                         each.begin());
  }
  if (moved) leave_server(*moved);
}

void engine::note_renewal(const reply& said, seam::renewal& one) {
  read_renewal(said, one);
  one.wanted = one.wanted || how_.share_with_foreigners;
  if (!said.failed()) return;
  warn(error_in(said.failure(), connection_.where().shown(), one.held.name->view()).what());
}

}  // namespace crosslock::redis
