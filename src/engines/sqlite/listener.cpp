// A wake-up only says that something happened to a name with that hash. What happened is read from
// the database; so a wrong one does no harm, and a grant is believed because it is stored.
#include "engines/sqlite/listener.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

/// For a look of the reader, which waits for no writer.
constexpr duration read_within = 1s;

/// What the rows of one name say.
struct name_snapshot {
  seam::name_ref name;
  std::vector<holder> holders;
  std::int64_t waiting = 0;  ///< rows of those in line, whether they live or not
};

name_snapshot look_at_rows(ledger& rows, const seam::name_ref& name) {
  name_snapshot seen{name, {}, 0};
  if (const auto row = rows.find(name->view())) {
    seen.holders = rows.holders(name->view(), *row);
    const auto together = row->alone ? 0 : static_cast<std::int64_t>(seen.holders.size());
    seen.waiting = row->claim_rows - together;
  }
  return seen;
}

/// Whether anybody in line does. Nearly always the first lives.
bool somebody_lives(ledger& rows, const lock_name& name, const process_id& self, server_time now) {
  const auto lives = [&](const waiter& one) {
    return one.place_ends > now && !surely_gone(rows.client(one.client).process, self);
  };
  std::vector<waiter> some = rows.waiters_after(name.view(), 0, 1);
  while (!some.empty() && std::ranges::none_of(some, lives)) {
    some = rows.waiters_after(name.view(), some.back().ticket, seam::near_places);
  }
  return !some.empty();
}

/// What the rows say about one claim of ours. A grant that is heard of takes who stands in line for
/// alive, to be quick: at worst it is passed on less often.
template <class Lives>
void judge(const name_snapshot& seen, const concern& one, std::vector<event>& events,
           const Lives& somebody_lives) {
  const auto mine = std::ranges::find(seen.holders, one.what.owner, &holder::owner);
  const bool held = mine != seen.holders.end();
  if (one.what.is == interest::kind::holding) {
    if (!held) {
      events.push_back({event::kind::lost, one});
    } else if (seen.waiting > 0 && somebody_lives()) {
      events.push_back({event::kind::wanted, one});
    }
    return;
  }
  if (!held) return;
  // The same clock here as there: it is known to the nanosecond what this lease counts from.
  events.push_back({event::kind::granted, one,
                    seam::grant{.name = one.what.name,
                                .owner = one.what.owner,
                                .first = fence{mine->first},
                                .last = fence{mine->last},
                                .lease = mine->lease,
                                .sent = time_point{mine->ends - mine->lease},
                                .offer = mine->offer_of != 0,
                                .wanted = seen.waiting > 0}});
}

/// Whether a name has a holder that is dead, and up to which ticket waiters are near.
struct name_health {
  seam::name_ref name;
  ticket_number near_to = 0;
  bool dead = false;
};

name_health look_at_health(ledger& rows, const seam::name_ref& name, const process_id& self) {
  name_health seen{.name = name};
  const auto first = rows.waiters_after(name->view(), 0, seam::near_places);
  const bool all = static_cast<std::int64_t>(first.size()) < seam::near_places;
  seen.near_to = all ? std::numeric_limits<ticket_number>::max() : first.back().ticket;
  if (const auto row = rows.find(name->view())) {
    const auto holders = rows.holders(name->view(), *row);
    seen.dead = std::ranges::any_of(holders, [&](const holder& each) {
      return surely_dead(rows.client(each.client).process, self);
    });
  }
  return seen;
}

}  // namespace

std::vector<event> look_for_news(connection& rows, seam::clock& clock,
                                 const std::vector<concern>& about) {
  std::vector<event> events;
  if (about.empty()) return events;
  const time_point now = clock.now();
  rows.read(now + read_within, [&](ledger& read, const process_id& self) {
    name_snapshot seen;
    for (const concern& one : about) {
      const seam::name_ref& name = one.what.name;
      if (!seen.name || *seen.name != *name) seen = look_at_rows(read, name);
      judge(seen, one, events, [&] { return somebody_lives(read, *name, self, since_boot(now)); });
    }
  });
  return events;
}

std::vector<event> look_for_deaths(connection& rows, seam::clock& clock,
                                   const std::vector<concern>& waiting) {
  std::vector<event> events;
  if (waiting.empty()) return events;
  rows.read(clock.now() + read_within, [&](ledger& read, const process_id& self) {
    name_health seen;
    for (const concern& one : waiting) {
      const interest& what = one.what;
      if (!seen.name || *seen.name != *what.name) seen = look_at_health(read, what.name, self);
      const bool near = what.ticket <= seen.near_to;
      if (near != what.near)
        one.whose->claims.note_place(*what.name, what.owner, what.ticket, near);
      if (near && seen.dead) events.push_back({event::kind::look_again, one});
    }
  });
  return events;
}

void listener::hear_about(connection& rows, std::uint32_t name_hash) {
  std::vector<concern> about;
  for (interest& each : claims.about(name_hash)) about.push_back({this, std::move(each)});
  for (const event& each : look_for_news(rows, clock_, about)) report(each);
}

void listener::report(const event& news) {
  const interest& whom = news.whom.what;
  const seam::claim_key key{*whom.name, whom.owner};
  switch (news.is) {
    case event::kind::granted:
      if (claims.brought(*whom.name, whom.owner)) events_.granted(news.grant);
      return;
    case event::kind::wanted:
      events_.wanted(key);
      return;
    case event::kind::lost:
      claims.forget(*whom.name, whom.owner);
      events_.failed(key, make_error(errc::lost, "'" + whom.name->str() +
                                                     "' was taken from its holder by force"));
      return;
    case event::kind::look_again:
      events_.look_again(key);
      return;
  }
}

void listener::report_cells(const std::vector<std::uint32_t>& hashes, bool every) {
  for (const seam::name_ref& cell : cells.all(clock_.now())) {
    const auto hash = wake_file::hash_of(cell->view());
    const bool told = every || std::ranges::find(hashes, hash) != hashes.end();
    if (told) events_.cell_changed(*cell);
  }
}

}  // namespace crosslock::sqlite
