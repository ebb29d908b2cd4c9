// Each verb is one job for the writer, or one look of the reader, and its result in the words of
// the seam.
#include "engines/sqlite/engine.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

/// Which engine brings news on this thread just now.
thread_local const seam::engine* visited = nullptr;

/// So many renewals go into one transaction: others must get their turn.
constexpr std::size_t renewals_at_once = 512;

seam::grant make_grant(const seam::claim& claim, const holder& mine, time_point sent, bool wanted) {
  return {.name = claim.name,
          .owner = claim.owner,
          .first = fence{mine.first},
          .last = fence{mine.last},
          .lease = mine.lease,
          .sent = sent,
          .offer = false,
          .wanted = wanted};
}

class ask_job final : public job {
 public:
  ask_job(const member& from, const seam::claim& claim, const remembered& before,
          crowd_hint& crowds, time_point give_up)
      : job{from, verb::ask, give_up},
        claim_{claim},
        before_{before},
        crowds_{crowds},
        hash_{wake_file::hash_of(claim.name->view())} {}

  bool run_alone(ledger& rows, client_number from, time_point now) override {
    // The clerk refuses what cannot be given, and knows more about upgrades.
    const bool simple = !claim_.upgrade && claim_.permits >= 1 && claim_.permits <= claim_.of;
    if (before_.asked_before || !simple) return false;
    if (crowds_.crowded(hash_)) return false;
    holder fresh{.owner = claim_.owner,
                 .want = seam::wish_of(claim_),
                 .lease = claim_.lease,
                 .ends = now + claim_.lease,
                 .since = now,
                 .client = from};
    const auto first = rows.take_free(claim_.name->view(), fresh);
    if (!first) return false;
    fresh.first = *first;
    fresh.last = *first + seam::fence_block - 1;
    outcome = {seam::ask_result::granted, fresh, false, 0, {}};
    return true;
  }
  void run(clerk& clerk) override {
    outcome = clerk.ask(claim_, before_);
    crowds_.note(hash_, outcome.result != seam::ask_result::granted || outcome.wanted);
  }

  ask_outcome outcome;

 private:
  const seam::claim& claim_;
  const remembered before_;
  crowd_hint& crowds_;
  const std::uint32_t hash_;
};

class release_job final : public job {
 public:
  release_job(const member& from, const seam::grant& grant, crowd_hint& crowds, time_point give_up)
      : job{from, verb::release, give_up},
        grant_{grant},
        crowds_{crowds},
        hash_{wake_file::hash_of(grant.name->view())} {}

  bool run_alone(ledger& rows, client_number, time_point now) override {
    if (crowds_.crowded(hash_)) return false;
    if (!rows.give_back_alone(grant_.name->view(), grant_.owner, grant_.first.value(), now)) {
      return false;
    }
    answer = seam::release_answer::released;
    return true;
  }
  void run(clerk& clerk) override {
    bool left_alone = false;
    answer = clerk.release(grant_, left_alone);
    crowds_.note(hash_, !left_alone);
  }

  seam::release_answer answer = seam::release_answer::not_owner;

 private:
  const seam::grant& grant_;
  crowd_hint& crowds_;
  const std::uint32_t hash_;
};

}  // namespace

engine::engine(const place& place, identity who, seam::turn& turn, seam::clock& clock)
    : turn_{turn},
      clock_{clock},
      connection_{connection::to(place, clock)},
      self_{std::move(who.text), who.pid, [this](std::uint32_t name_hash) { hear(name_hash); }},
      listener_{*connection_,
                self_,
                interests_,
                cells_,
                turn,
                clock,
                [this](const std::vector<listener::posted_ask>& asks) { answer_asks(asks); }} {
  connection_->enter(self_);
}

void engine::hear(std::uint32_t name_hash) {
  struct visit {
    explicit visit(const seam::engine* whom) : before{std::exchange(visited, whom)} {}
    ~visit() { visited = before; }
    const seam::engine* const before;
  };
  const visit this_one{this};
  listener_.hear_about(name_hash);
}

bool engine::on_own_thread() const noexcept { return visited == this || listener_.is_current(); }

engine::~engine() { close(); }

const seam::traits& engine::about() const noexcept { return offered; }

seam::answer engine::ask(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  const remembered before = interests_.asking(claim);
  listener_.attend();
  const time_point sent = clock_.now();
  ask_job wanted{self_, claim, before, crowds_, give_up};
  try {
    connection_->write(wanted);
  } catch (const error& why) {
    note_failure(claim, before, why);
    throw;
  }
  return settle(claim, wanted.outcome, sent);
}

seam::answer engine::settle(const seam::claim& claim, const ask_outcome& outcome, time_point sent) {
  seam::answer answer{.result = outcome.result, .granted = {}, .look_after = outcome.look_after};
  switch (outcome.result) {
    case seam::ask_result::granted:
      interests_.holding(claim.name, claim.owner);
      answer.granted = make_grant(claim, outcome.mine, sent, outcome.wanted);
      break;
    case seam::ask_result::in_line:
      interests_.waiting(*claim.name, claim.owner, outcome.ticket, outcome.near);
      listener_.watch_closely();
      break;
    case seam::ask_result::busy:
      interests_.forget(*claim.name, claim.owner);
      break;
  }
  return answer;
}

void engine::note_failure(const seam::claim& claim, const remembered& before, const error& why) {
  if (why.outcome_unknown()) {
    interests_.in_doubt(*claim.name, claim.owner);
  } else if (!before.asked_before) {
    interests_.forget(*claim.name, claim.owner);
  }
}

void engine::ask_async(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  listener_.post({claim, give_up});
}

/// All that have gathered go into one transaction.
void engine::answer_asks(const std::vector<listener::posted_ask>& asks) {
  struct under_way {
    remembered before;
    std::variant<ask_outcome, error> result;
  };
  std::vector<under_way> each;
  time_point give_up = time_point::max();
  for (const auto& ask : asks) {
    each.push_back({interests_.asking(ask.claim), ask_outcome{}});
    give_up = std::min(give_up, ask.give_up);
  }
  const time_point sent = clock_.now();
  try {
    connection_->write(self_, verb::ask, give_up, [&](clerk& clerk) {
      for (std::size_t i = 0; i < asks.size(); ++i) {
        try {
          each[i].result = clerk.ask(asks[i].claim, each[i].before);
        } catch (const fault&) {
          throw;
        } catch (const error& refusal) {
          each[i].result = refusal;
        }
      }
    });
  } catch (const error& why) {
    for (under_way& one : each) one.result = why;
  } catch (const std::exception& why) {
    for (under_way& one : each) one.result = make_error(errc::unreachable, why.what());
  }
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const seam::claim& claim = asks[i].claim;
    const seam::claim_key key{*claim.name, claim.owner};
    if (const auto* const why = std::get_if<error>(&each[i].result)) {
      note_failure(claim, each[i].before, *why);
      turn_.failed(key, *why);
    } else {
      turn_.answered(key, settle(claim, std::get<ask_outcome>(each[i].result), sent));
    }
  }
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  const remembered last = interests_.forget(*claim.name, claim.owner);
  connection_->write(self_, verb::withdraw, give_up,
                     [&](clerk& clerk) { clerk.withdraw(*claim.name, claim.owner, last.ticket); });
}

void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  // A file that is no longer at its path takes what is held in it along.
  static_cast<void>(connection_->files_in_place());
  // By name, as the rows are stored: then each part touches few pages.
  std::vector<seam::renewal*> order;
  order.reserve(batch.size());
  for (seam::renewal& one : batch) order.push_back(&one);
  std::ranges::sort(order, {}, [](const seam::renewal* one) { return one->held.name->view(); });
  for (std::span<seam::renewal*> rest{order}; !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), renewals_at_once));
    rest = rest.subspan(part.size());
    renew_part(part, give_up);
  }
}

void engine::renew_part(std::span<seam::renewal*> part, time_point give_up) {
  const time_point sent = clock_.now();
  try {
    connection_->write(self_, verb::renew, give_up, [&](clerk& clerk) {
      for (seam::renewal* const one : part) clerk.renew(*one);
    });
  } catch (...) {
    // What was decided was not committed.
    for (seam::renewal* const one : part) one->outcome = seam::renewal::result::unknown;
    throw;
  }
  for (seam::renewal* const one : part) {
    one->sent = sent;
    const bool over = one->outcome == seam::renewal::result::lost || one->detach;
    if (over) interests_.forget(*one->held.name, one->held.owner);
  }
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  interests_.forget(*grant.name, grant.owner);
  release_job wanted{self_, grant, crowds_, give_up};
  connection_->write(wanted);
  return wanted.answer;
}

std::optional<seam::grant> engine::adopt(const seam::grant& detached, const seam::claim& next,
                                         time_point give_up) {
  seam::refuse_lease(offered, next.lease);
  const time_point sent = clock_.now();
  std::optional<holder> taken;
  bool wanted = false;
  connection_->write(self_, verb::adopt, give_up,
                     [&](clerk& clerk) { taken = clerk.adopt(detached, next, wanted); });
  if (!taken) return std::nullopt;
  interests_.holding(next.name, next.owner);
  listener_.attend();
  return make_grant(next, *taken, sent, wanted);
}

bool engine::break_lock(const lock_name& name, owner_id owner, time_point give_up) {
  bool broken = false;
  connection_->write(self_, verb::break_lock, give_up,
                     [&](clerk& clerk) { broken = clerk.break_lock(name, owner); });
  return broken;
}

lock_info engine::look(const lock_name& name, time_point give_up) {
  lock_info info;
  connection_->read(give_up, [&](ledger& rows, const process_id& self) {
    info = inspect(rows, name.view(), self, clock_.now());
  });
  return info;
}

std::vector<lock_info> engine::list(std::string_view prefix, time_point give_up) {
  std::vector<lock_info> infos;
  connection_->read(give_up, [&](ledger& rows, const process_id& self) {
    for (const std::string& name : rows.names_from(prefix)) {
      lock_info info = inspect(rows, name, self, clock_.now());
      if (!info.holders.empty() || !info.line.empty()) infos.push_back(std::move(info));
    }
  });
  return infos;
}

seam::cell engine::read_cell(const lock_name& name, time_point give_up) {
  seam::cell found;
  connection_->read(
      give_up, [&](ledger& rows, const process_id&) { found = rows.find_cell(name.view()).now; });
  return found;
}

seam::cell engine::watch_cell(const lock_name& name, duration span, time_point give_up) {
  const time_point now = clock_.now();
  const time_point until = span > time_point::max() - now ? time_point::max() : now + span;
  cells_.note(name, until, now);
  listener_.attend();
  connection_->wake()->watch(self_.number(), wake_file::hash_of(name.view()), until, now);
  return read_cell(name, give_up);
}

seam::swap_answer engine::swap_cell(const seam::cell_swap& wanted, time_point give_up) {
  seam::refuse_long_value(offered.name, wanted);
  seam::swap_answer answer;
  connection_->write(self_, verb::cell, give_up,
                     [&](clerk& clerk) { answer = clerk.swap_cell(wanted); });
  return answer;
}

std::optional<seam::cell> engine::open_cell(const lock_name& name, fence token,
                                            time_point give_up) {
  std::optional<seam::cell> found;
  connection_->write(self_, verb::cell, give_up,
                     [&](clerk& clerk) { found = clerk.open_cell(name, token); });
  return found;
}

std::vector<seam::finding> engine::examine(time_point) {
  const place& where = connection_->where();
  const bool full = where.keeps == durability::full;
  return {{.weight = seam::severity::note,
           .topic = "reach",
           .text = "these locks are in " + where.path + ": they exclude processes of this machine",
           .code = {}},
          {.weight = seam::severity::note,
           .topic = "durability",
           .text = full ? "sync=full: a commit survives a power cut"
                        : "sync=normal: a power cut may take the last commits along; that does not "
                          "matter to locks, which a restart ends anyway, but to stored values",
           .code = {}}};
}

void engine::close() noexcept {
  if (std::exchange(closed_, true)) return;
  listener_.stop();
  interests_.clear();
  connection_->leave(self_);
}

/// SQLite forbids a child to touch what its parent has opened, and closing is touching. Its
/// descriptors are closed at exec; none of them carries a lock that a child could drop.
void engine::abandon() noexcept {}

}  // namespace crosslock::sqlite
