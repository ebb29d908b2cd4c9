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

/// So many renewals go into one transaction: others must get their turn.
constexpr std::size_t renewals_at_once = 512;

seam::grant make_grant(const seam::claim& claim, const seam::given& given, time_point sent) {
  return {.name = claim.name,
          .owner = claim.owner,
          .first = given.first,
          .last = given.last,
          .lease = given.lease,
          .sent = sent,
          .offer = false,
          .wanted = given.wanted};
}

error to_error(const seam::refusal& no) { return make_error(no.code, no.text); }

seam::renew_item item_of(const seam::renewal& wanted) {
  return {.name = wanted.held.name,
          .owner = wanted.held.owner,
          .first = wanted.held.first,
          .last = wanted.held.last,
          .lease = wanted.lease,
          .want_fences = wanted.want_fences,
          .share = wanted.share,
          .detach = wanted.detach};
}

void note_outcome(seam::renewal& item, const seam::renew_outcome& outcome) {
  using result = seam::renewal::result;
  item.outcome = outcome.renewed ? result::renewed : result::lost;
  item.granted_lease = outcome.lease;
  item.more_first = outcome.more_first;
  item.more_last = outcome.more_last;
  item.wanted = outcome.wanted;
}

class ask_job final : public job {
 public:
  ask_job(const member& from, const seam::claim& claim, const remembered& before,
          contention_hint& contention, time_point give_up)
      : job{from, verb::ask, give_up},
        claim_{claim},
        before_{before},
        contention_{contention},
        hash_{wake_file::hash_of(claim.name->view())} {}

  /// Whether one statement may be enough.
  bool is_simple() const noexcept {
    // The line server refuses what cannot be given, and knows more about upgrades.
    const bool simple = !claim_.upgrade && claim_.permits >= 1 && claim_.permits <= claim_.of;
    return simple && !before_.asked_before && !contention_.contended(hash_);
  }
  bool run_alone(ledger& rows, client_number from, server_time now) override {
    if (!is_simple()) return false;
    const auto first = rows.take_free(claim_.name->view(), {.owner = claim_.owner,
                                                            .demand = seam::demand_of(claim_),
                                                            .lease = claim_.lease,
                                                            .ends = now + claim_.lease,
                                                            .since = now,
                                                            .client = from});
    if (!first) return false;
    const fence last{*first + seam::fence_block - 1};
    outcome = {.result = seam::ask_result::granted,
               .granted = {fence{*first}, last, claim_.lease, false},
               .ticket = 0,
               .look_after = {}};
    return true;
  }
  void run(seam::line_server& line) override {
    const auto answer = line.ask(claim_, before_);
    if (const auto* const no = std::get_if<seam::refusal>(&answer)) throw to_error(*no);
    outcome = std::get<seam::ask_answer>(answer);
    const bool granted = outcome.result == seam::ask_result::granted;
    contention_.note(hash_, !granted || outcome.granted.wanted);
  }

  seam::ask_answer outcome;

 private:
  const seam::claim& claim_;
  const remembered before_;
  contention_hint& contention_;
  const std::uint32_t hash_;
};

class release_job final : public job {
 public:
  release_job(const member& from, const seam::grant& grant, contention_hint& contention,
              time_point give_up)
      : job{from, verb::release, give_up},
        grant_{grant},
        contention_{contention},
        hash_{wake_file::hash_of(grant.name->view())} {}

  bool run_alone(ledger& rows, client_number, server_time now) override {
    if (contention_.contended(hash_)) return false;
    if (!rows.give_back_alone(grant_.name->view(), grant_.owner, grant_.first.value(), now)) {
      return false;
    }
    answer = seam::release_answer::released;
    return true;
  }
  void run(seam::line_server& line) override {
    const auto outcome = line.release(grant_.name, grant_.owner, grant_.first);
    answer = outcome.answer;
    contention_.note(hash_, !outcome.left_alone);
  }

  seam::release_answer answer = seam::release_answer::not_owner;

 private:
  const seam::grant& grant_;
  contention_hint& contention_;
  const std::uint32_t hash_;
};

}  // namespace

engine::engine(const database_location& location, identity who, seam::engine_events& events,
               seam::clock& clock)
    : events_{events},
      clock_{clock},
      connection_{connection::to(location, clock)},
      self_{std::move(who.text), who.pid, [this](std::uint32_t name_hash) { hear(name_hash); }},
      listener_{std::make_shared<listener>(
          events, clock,
          [this](const std::vector<listener::posted_ask>& asks) { answer_asks(asks); })} {
  connection_->enter(self_);
  try {
    connection_->ears().join(listener_);
  } catch (...) {
    connection_->leave(self_);
    throw;
  }
}

void engine::hear(std::uint32_t name_hash) {
  const seam::visit visit{*listener_};
  if (visit) listener_->hear_about(*connection_, name_hash);
}

bool engine::on_own_thread() const noexcept { return listener_->is_visited_here(); }

engine::~engine() { close(); }

const seam::traits& engine::about() const noexcept { return offered; }

seam::answer engine::ask(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  const remembered before = listener_->claims.asking(claim);
  connection_->ears().attend();
  const time_point sent = clock_.now();
  ask_job wanted{self_, claim, before, contention_, give_up};
  try {
    connection_->write(wanted);
  } catch (const error& why) {
    note_failure(claim, before, why);
    throw;
  }
  return note_answer(claim, wanted.outcome, sent);
}

seam::answer engine::note_answer(const seam::claim& claim, const seam::ask_answer& outcome,
                                 time_point sent) {
  seam::answer answer{.result = outcome.result, .granted = {}, .look_after = outcome.look_after};
  switch (outcome.result) {
    case seam::ask_result::granted:
      listener_->claims.holding(claim.name, claim.owner);
      answer.granted = make_grant(claim, outcome.granted, sent);
      break;
    case seam::ask_result::in_line:
      listener_->claims.waiting(*claim.name, claim.owner, outcome.ticket, outcome.near);
      connection_->ears().watch_closely();
      break;
    case seam::ask_result::busy:
      listener_->claims.forget(*claim.name, claim.owner);
      break;
  }
  return answer;
}

void engine::note_failure(const seam::claim& claim, const remembered& before, const error& why) {
  if (why.outcome_unknown()) {
    listener_->claims.in_doubt(*claim.name, claim.owner);
  } else if (!before.asked_before) {
    listener_->claims.forget(*claim.name, claim.owner);
  }
}

void engine::ask_async(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  if (!ask_at_once(claim)) connection_->ears().post(listener_, {claim, give_up});
}

/// A free name is taken here and now. Whatever could keep the caller waiting is left to the
/// listener: false, and nothing has happened.
bool engine::ask_at_once(const seam::claim& claim) {
  const remembered before = listener_->claims.asking(claim);
  connection_->ears().attend();
  const time_point sent = clock_.now();
  ask_job wanted{self_, claim, before, contention_, sent};
  try {
    if (!wanted.is_simple() || !connection_->write_at_once(wanted)) return false;
  } catch (const error& why) {
    note_failure(claim, before, why);
    throw;
  }
  events_.answered(claim, note_answer(claim, wanted.outcome, sent));
  return true;
}

struct engine::under_way {
  remembered before;
  std::variant<seam::ask_answer, seam::refusal> heard{};
  std::optional<error> failure{};
};

/// One by itself may need no more than a statement; several go into one transaction.
void engine::carry_out(const std::vector<listener::posted_ask>& asks,
                       std::vector<under_way>& each) {
  if (asks.size() == 1) {
    ask_job only{self_, asks[0].claim, each[0].before, contention_, asks[0].give_up};
    connection_->write(only);
    each[0].heard = only.outcome;
    return;
  }
  const auto first = std::ranges::min_element(asks, {}, &listener::posted_ask::give_up);
  connection_->write(self_, verb::ask, first->give_up, [&](seam::line_server& line) {
    for (std::size_t i = 0; i < asks.size(); ++i) {
      each[i].heard = line.ask(asks[i].claim, each[i].before);
    }
  });
}

void engine::answer_asks(const std::vector<listener::posted_ask>& asks) {
  std::vector<under_way> each;
  for (const auto& ask : asks) each.push_back({listener_->claims.asking(ask.claim)});
  const time_point sent = clock_.now();
  try {
    carry_out(asks, each);
  } catch (const error& why) {
    for (under_way& one : each) one.failure = why;
  } catch (const std::exception& why) {
    for (under_way& one : each) one.failure = make_error(errc::unreachable, why.what());
  }
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const seam::claim& claim = asks[i].claim;
    const seam::claim_key key{*claim.name, claim.owner};
    std::optional<error>& why = each[i].failure;
    if (const auto* const no = std::get_if<seam::refusal>(&each[i].heard); no && !why) {
      why = to_error(*no);
    }
    if (why) {
      note_failure(claim, each[i].before, *why);
      events_.failed(key, *why);
    } else {
      events_.answered(claim, note_answer(claim, std::get<seam::ask_answer>(each[i].heard), sent));
    }
  }
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  const remembered last = listener_->claims.forget(*claim.name, claim.owner);
  connection_->write(self_, verb::withdraw, give_up, [&](seam::line_server& line) {
    line.withdraw(claim.name, claim.owner, {true, last.ticket});
  });
}

void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  connection_->ears().relieve_if_kept();
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
  std::vector<seam::renew_item> items;
  items.reserve(part.size());
  for (const seam::renewal* const one : part) items.push_back(item_of(*one));
  const time_point sent = clock_.now();
  try {
    connection_->write(self_, verb::renew, give_up, [&](seam::line_server& line) {
      const std::vector<seam::renew_outcome> outcomes = line.renew(items);
      for (std::size_t i = 0; i < part.size(); ++i) note_outcome(*part[i], outcomes[i]);
    });
  } catch (...) {
    // What was decided was not committed.
    for (seam::renewal* const one : part) one->outcome = seam::renewal::result::unknown;
    throw;
  }
  for (seam::renewal* const one : part) {
    one->sent = sent;
    const bool over = one->outcome == seam::renewal::result::lost || one->detach;
    if (over) listener_->claims.forget(*one->held.name, one->held.owner);
  }
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  listener_->claims.forget(*grant.name, grant.owner);
  release_job wanted{self_, grant, contention_, give_up};
  connection_->write(wanted);
  return wanted.answer;
}

std::optional<seam::grant> engine::adopt(const seam::grant& detached, const seam::claim& next,
                                         time_point give_up) {
  seam::refuse_lease(offered, next.lease);
  const time_point sent = clock_.now();
  std::optional<seam::given> taken;
  connection_->write(self_, verb::adopt, give_up, [&](seam::line_server& line) {
    taken = line.adopt(detached.owner, detached.first, next);
  });
  if (!taken) return std::nullopt;
  listener_->claims.holding(next.name, next.owner);
  connection_->ears().attend();
  return make_grant(next, *taken, sent);
}

bool engine::break_lock(const lock_name& name, owner_id owner, time_point give_up) {
  bool broken = false;
  const auto shared = std::make_shared<const lock_name>(name);
  connection_->write(self_, verb::break_lock, give_up,
                     [&](seam::line_server& line) { broken = line.break_lock(shared, owner); });
  return broken;
}

lock_info engine::look(const lock_name& name, time_point give_up) {
  lock_info info;
  connection_->read(give_up, [&](ledger& rows, const process_id& self) {
    table_rows tables{rows, self, clock_.now()};
    info = seam::line_server{tables}.look(name.view());
  });
  return info;
}

std::vector<lock_info> engine::list(std::string_view prefix, time_point give_up) {
  std::vector<lock_info> infos;
  connection_->read(give_up, [&](ledger& rows, const process_id& self) {
    table_rows tables{rows, self, clock_.now()};
    infos = seam::line_server{tables}.list(prefix);
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
  listener_->cells.note(name, until, now);
  listener_->watches.store(true);
  connection_->ears().attend();
  connection_->wake()->watch(self_.number(), wake_file::hash_of(name.view()), until, now);
  return read_cell(name, give_up);
}

seam::swap_answer engine::swap_cell(const seam::cell_swap& wanted, time_point give_up) {
  seam::refuse_long_value(offered.name, wanted);
  seam::swap_answer answer;
  connection_->write(self_, verb::cell, give_up,
                     [&](seam::line_server& line) { answer = line.swap_cell(wanted); });
  return answer;
}

std::optional<seam::cell> engine::open_cell(const lock_name& name, fence token,
                                            time_point give_up) {
  std::optional<seam::cell> found;
  const auto shared = std::make_shared<const lock_name>(name);
  connection_->write(self_, verb::cell, give_up,
                     [&](seam::line_server& line) { found = line.open_cell(shared, token); });
  return found;
}

std::vector<seam::finding> engine::examine(time_point) {
  const database_location& where = connection_->where();
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
  connection_->ears().leave(*listener_);
  connection_->leave(self_);
}

/// SQLite forbids a child to touch what its parent has opened, and closing is touching. Its
/// descriptors are closed at exec; none of them carries a lock that a child could drop.
void engine::abandon() noexcept {}

}  // namespace crosslock::sqlite
