// A wake-up only says that something happened to a name with that hash. What happened is read from
// the database; so a wrong one does no harm, and a grant is believed because it is stored.
#include "engines/sqlite/listener.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

/// How often those who are waited for are looked at by the first in line, and by the others, who
/// may have become the first: a death is seen within 0.3 s.
constexpr duration tick_near = 100ms;
constexpr duration tick_far = 150ms;
/// How often the files are looked at.
constexpr duration tick_otherwise = 1s;
constexpr duration nap_when_idle = 10s;
/// For how long after a wait it is ready for the next.
constexpr duration attention = 2s;

}  // namespace

/// What the rows of one name say.
struct listener::name_snapshot {
  seam::name_ref name;
  std::vector<holder> holders;
  std::int64_t waiting = 0;  ///< rows of those in line, whether they live or not
};

struct listener::event {
  enum class kind { granted, wanted, lost, look_again } is;
  interest whom;
  seam::grant grant{};
};

listener::listener(connection& connection, const member& self, interests& interests,
                   seam::watched_cells& cells, seam::engine_events& events, seam::clock& clock,
                   on_asks answer)
    : connection_{connection},
      self_{self},
      interests_{interests},
      cells_{cells},
      events_{events},
      clock_{clock},
      answer_{std::move(answer)} {}

listener::~listener() { stop(); }

void listener::attend() {
  if (running_.load(std::memory_order_acquire)) {
    if (idle_.load(std::memory_order_relaxed) && idle_.exchange(false)) ring();
    return;
  }
  const seam::lock_guard guard{mutex_};
  if (thread_ || stopping_.load()) return;
  // Before it runs: whatever is posted from now on is news to it.
  wake_ = connection_.wake();
  box_ = &wake_->mailbox_of(self_.number());
  heard_ = box_->posted.load();
  thread_ = clock_.start("crosslock-hear", [this] { work(); });
  running_.store(true, std::memory_order_release);
}

void listener::watch_closely() {
  if (!waited_.load(std::memory_order_relaxed)) waited_.store(true);
  if (slow_.load() && slow_.exchange(false)) ring();
}

void listener::post(posted_ask ask) {
  attend();
  {
    const seam::lock_guard guard{mutex_};
    asks_.push_back(std::move(ask));
  }
  ring();
}

void listener::ring() noexcept { wake_file::ring(connection_.wake()->mailbox_of(self_.number())); }

void listener::stop() noexcept {
  std::unique_ptr<seam::thread> ending;
  {
    const seam::lock_guard guard{mutex_};
    stopping_.store(true);
    ending = std::move(thread_);
  }
  if (!ending) return;
  ring();
  ending->join();
}

bool listener::is_current() const noexcept {
  const seam::lock_guard guard{mutex_};
  return thread_ && thread_->is_current();
}

void listener::work() {
  while (!stopping_.load()) {
    try {
      listen_once();
    } catch (const std::exception&) {
      // The database cannot be read just now. The waiters look for themselves as well.
      const std::uint32_t seen = box_->rings.load();
      wait_on(box_->rings, seen, duration{tick_near}.count());
    }
  }
}

void listener::listen_once() {
  auto current = connection_.wake();
  mailbox* const box = &current->mailbox_of(self_.number());
  const bool moved = box != box_;
  wake_ = std::move(current);
  box_ = box;
  const std::uint32_t seen = box->rings.load();
  answer_asks();
  if (moved) heard_ = box->posted.load() - mailbox::kept - 1;  // look at everything
  hear_news();
  const time_point now = clock_.now();
  if (now >= last_tick_ + tick_length(now)) tick();
  if (!stopping_.load() && connection_.wake() == wake_) sleep(seen);
}

void listener::sleep(std::uint32_t seen) {
  const time_point now = clock_.now();
  const duration length = tick_length(now);
  idle_.store(length == nap_when_idle);
  slow_.store(length > tick_far);
  // Whoever came before that was said has not rung, and whoever comes later does.
  const bool listens = interests_.any() || cells_.any(now);
  if (waited_.load() ? slow_.load() : idle_.load() && listens) {
    attentive_until_ = now + attention;
    idle_.store(false);
    slow_.store(false);
  }
  const duration nap = last_tick_ + tick_length(now) - now;
  wait_on(box_->rings, seen, nap.count());
}

void listener::answer_asks() {
  std::vector<posted_ask> asks;
  {
    const seam::lock_guard guard{mutex_};
    asks.swap(asks_);
  }
  if (!asks.empty()) answer_(asks);
}

void listener::hear_news() {
  const std::uint32_t end = box_->posted.load();
  bool missed = end - heard_ > mailbox::kept;
  std::vector<interest> concerned;
  std::vector<std::uint32_t> hashes;
  for (std::uint32_t number = heard_; !missed && number != end; ++number) {
    const auto hash = wake_file::posted(*box_, number);
    missed = !hash;
    if (!hash) break;
    std::ranges::move(interests_.about(*hash), std::back_inserter(concerned));
    hashes.push_back(*hash);
  }
  if (missed || !hashes.empty()) report_cells(hashes, missed);
  // What the missed ones told of was committed before they were posted: a look finds all of it.
  hear(missed ? interests_.all() : concerned);
  heard_ = end;
}

/// Whoever watches a cell reads it: what is told needs no look at the rows.
void listener::report_cells(const std::vector<std::uint32_t>& hashes, bool every) {
  for (const seam::name_ref& cell : cells_.all(clock_.now())) {
    const auto hash = wake_file::hash_of(cell->view());
    const bool told = every || std::ranges::find(hashes, hash) != hashes.end();
    if (told) events_.cell_changed(*cell);
  }
}

void listener::hear_about(std::uint32_t name_hash) { hear(interests_.about(name_hash)); }

void listener::hear(const std::vector<interest>& about) {
  if (about.empty()) return;
  std::vector<event> events;
  connection_.read(clock_.now() + 1s, [&](ledger& rows, const process_id& self) {
    name_snapshot seen;
    for (const interest& one : about) {
      if (!seen.name || *seen.name != *one.name) seen = look_at_rows(rows, one.name);
      judge(seen, one, events, [&] { return somebody_lives(rows, *one.name, self); });
    }
  });
  for (const event& one : events) report(one);
}

listener::name_snapshot listener::look_at_rows(ledger& rows, const seam::name_ref& name) {
  name_snapshot seen{name, {}, 0};
  if (const auto row = rows.find(name->view())) {
    seen.holders = rows.holders(name->view(), *row);
    const auto together = row->alone ? 0 : static_cast<std::int64_t>(seen.holders.size());
    seen.waiting = row->claim_rows - together;
  }
  return seen;
}

/// Whether anybody in line does. Nearly always the first lives.
bool listener::somebody_lives(ledger& rows, const lock_name& name, const process_id& self) {
  const server_time now = since_boot(clock_.now());
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
void listener::judge(const name_snapshot& seen, const interest& one, std::vector<event>& events,
                     const std::function<bool()>& somebody_lives) {
  const auto mine = std::ranges::find(seen.holders, one.owner, &holder::owner);
  const bool held = mine != seen.holders.end();
  if (one.is == interest::kind::holding) {
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
                    seam::grant{.name = one.name,
                                .owner = one.owner,
                                .first = fence{mine->first},
                                .last = fence{mine->last},
                                .lease = mine->lease,
                                .sent = time_point{mine->ends - mine->lease},
                                .offer = mine->offer_of != 0,
                                .wanted = seen.waiting > 0}});
}

void listener::report(const event& one) {
  const seam::claim_key key{*one.whom.name, one.whom.owner};
  switch (one.is) {
    case event::kind::granted:
      if (interests_.brought(*one.whom.name, one.whom.owner)) events_.granted(one.grant);
      return;
    case event::kind::wanted:
      events_.wanted(key);
      return;
    case event::kind::lost:
      interests_.forget(*one.whom.name, one.whom.owner);
      events_.failed(key, make_error(errc::lost, "'" + one.whom.name->str() +
                                                     "' was taken from its holder by force"));
      return;
    case event::kind::look_again:
      events_.look_again(key);
      return;
  }
}

duration listener::tick_length(time_point now) const {
  if (interests_.near() > 0) return tick_near;
  if (interests_.any_waiting()) return tick_far;
  // Who takes turns at a lock waits again before long: no need to go to sleep in between.
  if (now < attentive_until_) return tick_near;
  return interests_.any() || cells_.any(now) ? tick_otherwise : nap_when_idle;
}

void listener::tick() {
  last_tick_ = clock_.now();
  if (waited_.exchange(false)) attentive_until_ = last_tick_ + attention;
  if (last_tick_ >= files_checked_ + tick_otherwise) {
    files_checked_ = last_tick_;
    // Opens them anew; what was held in the old ones is then found to be gone.
    if (!connection_.files_in_place()) {
      connection_.write(self_, verb::connect, last_tick_ + 1s, [](seam::line_server&) {});
    }
  }
  watch_lives(interests_.all_waiting());
}

void listener::watch_lives(const std::vector<interest>& waiting) {
  if (waiting.empty()) return;
  std::vector<event> events;
  connection_.read(clock_.now() + 1s, [&](ledger& rows, const process_id& self) {
    for (const interest& one : waiting) {
      const auto before = rows.waiters_before(one.name->view(), one.ticket, seam::near_places);
      const bool near = before < seam::near_places;
      if (near != one.near) interests_.note_place(*one.name, one.owner, one.ticket, near);
      if (!near) continue;
      const auto row = rows.find(one.name->view());
      if (!row) continue;
      const auto holders = rows.holders(one.name->view(), *row);
      const bool dead = std::ranges::any_of(holders, [&](const holder& each) {
        return surely_dead(rows.client(each.client).process, self);
      });
      if (dead) events.push_back({event::kind::look_again, one});
    }
  });
  for (const event& one : events) report(one);
}

}  // namespace crosslock::sqlite
