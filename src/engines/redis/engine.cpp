// Each verb is one script, and its answer in the words of the seam. Renewals are in
// engine_renew.cpp, inspection and cells in engine_look.cpp.
#include "engines/redis/engine.hpp"

#include "engines/redis/lock_view.hpp"
#include "engines/redis/running.hpp"
#include "engines/redis/server_check.hpp"
#include "engines/redis/server_login.hpp"
#include "line_rules/line_rule.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

using namespace std::chrono_literals;

/// How often a waiter looks that no push reaches.
constexpr duration look_when_deaf = 100ms;
/// For a request that nobody waits for.
constexpr duration background_timeout = 2s;
/// Somebody who waits without blocking is expected to ask again by then.
constexpr duration asks_again_within = 1s;
/// So many names are remembered about which somebody has been warned.
constexpr std::size_t strangers_max = 1000;

/// Which engine brings news on this thread just now.
thread_local const seam::engine* visited = nullptr;

struct visit {
  explicit visit(const seam::engine* whom) : before{std::exchange(visited, whom)} {}
  ~visit() { visited = before; }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  const seam::engine* const before;
};

std::string draw_client_id(seam::clock& clock) {
  owner_id::bytes_type bytes{};
  clock.fill_random(bytes);
  return owner_id{bytes}.to_string().substr(0, 16);
}

}  // namespace

/// The values of an ask as they travel.
struct engine::ask_words {
  ask_words(const seam::claim& claim, bool listens)
      : owner{word::owner(claim.owner)},
        lease{word::milliseconds(claim.lease)},
        offer{word::milliseconds(seam::offer_lease(claim.lease))},
        demand{asking_word(claim, listens)} {}

  script_call call(const seam::claim& claim, key_set keys, std::string_view self) const {
    return {scripts().ask,
            claim.name->view(),
            keys,
            {owner.view(), lease.view(), self, demand, offer.view()}};
  }

  word owner;
  word lease;
  word offer;
  std::string demand;
};

struct engine::ask_under_way {
  seam::claim claim;
  time_point give_up;
  time_point sent;
};

engine::engine(const address& where, const preferences& how, const std::string& who,
               duration timeout, seam::engine_events& events, seam::clock& clock, log say)
    : client_{draw_client_id(clock)},
      self_{client_ + ' ' + who},
      how_{how},
      timeout_{timeout},
      keys_{how.share_with_foreigners ? key_set::lock_shared : key_set::lock},
      events_{events},
      clock_{clock},
      say_{std::move(say)},
      traits_{offered},
      connection_{where,
                  timeout,
                  clock,
                  [this](stream& to, parser& from, time_point by) { log_in(to, from, by); },
                  [this] { subscription_.ring(); },
                  {.write = [this](std::string& out, const seam::grant& grant,
                                   bool by_text) { write_release(out, grant, by_text); },
                   .reads_soon = [this] { subscription_.ring_soon(); },
                   .moved = [this](const error& why) { leave_server(why); }}},
      subscription_{channel_of(client_),
                    connection_,
                    timeout,
                    clock,
                    {.heard = [this](std::string_view message) { hear(message); },
                     .listening = [this] { everybody_looks(); },
                     .deaf = [this](const error&) { everybody_looks(); },
                     .refused = [this](const error& why) { warn_of_polling(why); }}} {
  const time_point give_up = clock.now() + timeout;
  connection_.open(give_up);
  try {
    subscription_.start(give_up);
  } catch (const error& why) {
    if (why.which() != errc::denied) throw;
    traits_.pushes = false;
    traits_.watches_cells = false;
    warn_of_polling(why);
  }
  check_rights(give_up);
}

void engine::warn_of_polling(const error& why) const {
  warn(std::string{why.what()} +
       "; without the rights to its channel and to know the server (ACL rules &crosslock:* "
       "+subscribe +info) waiters look every 100 ms instead of being woken");
}

void engine::warn(const std::string& text) const {
  if (say_) say_(log_level::warning, text);
}

/// The scripts do without these rights, so nobody would notice that they are missing.
void engine::check_rights(time_point give_up) {
  const std::string where = connection_.where().shown();
  const auto publish = connection_.call(plain_command{"PUBLISH", channel_of("0"), "look"}, give_up);
  if (publish[0].failed()) {
    warn(where + " says '" + std::string{publish[0].failure()} +
         "': without the right to publish (ACL rules &crosslock:* +publish) whoever waits behind "
         "this client is not woken, but finds out by its next look");
  }
  const std::string own = channel_of(client_);
  const auto listeners = connection_.call(plain_command{"PUBSUB", "NUMSUB", own}, give_up);
  if (listeners[0].failed()) {
    warn(
        where + " says '" + std::string{listeners[0].failure()} +
        "': without that right (ACL rule +pubsub|numsub) whoever waits behind this client is not "
        "handed the lock but told to look, and one who has died there keeps its place for a while");
  }
}

engine::~engine() { close(); }

void engine::log_in(stream& to, parser& from, time_point give_up) {
  const address& where = connection_.where();
  introduce(to, from, where, give_up);
  const server_info info = read_info(ask_for_info(to, from, where, give_up));
  const auto findings = judge_server(info, how_.eviction_allowed);
  refuse_unfit(findings, where);
  // Before the first request: what another server pushes must not be taken for its answer to that.
  subscription_.must_be_of(info.run_id);
  tell_findings(findings);
}

void engine::tell_findings(std::span<const seam::finding> findings) {
  if (!say_) return;
  const std::string where = connection_.where().shown();
  std::string warnings;
  for (const seam::finding& one : findings) {
    if (one.weight == seam::severity::warning) warnings += one.text + '\n';
  }
  {
    const seam::lock_guard guard{said_mutex_};
    if (warnings == said_) return;
    said_ = warnings;
  }
  for (const seam::finding& one : findings) {
    if (one.weight == seam::severity::warning) {
      say_(log_level::warning, where + ": " + one.text);
    }
  }
}

void engine::note_stranger(const lock_name& name, std::string_view kind) {
  {
    const seam::lock_guard guard{said_mutex_};
    if (strangers_.size() >= strangers_max || !strangers_.insert(name.str()).second) return;
  }
  warn("'" + name.str() + "' is taken by another library, which keeps " + keeps(kind) +
       ": it is waited for like any other holder");
}

connection::answers engine::call(script_call& what, time_point give_up) {
  auto answers = connection_.call(what, give_up);
  if (script_unknown(answers[0])) {
    what.send_text();
    return connection_.call(what, give_up);
  }
  return answers;
}

void engine::refuse(std::string_view failure, std::string_view name) {
  const error why = error_in(failure, connection_.where().shown(), name);
  if (needs_new_connection(failure)) leave_server(why);
  throw error{why};
}

void engine::leave_server(const error& why) {
  // What it has become a replica of is another server, whose news it hands on.
  connection_.renounce(why, [this] { subscription_.must_be_of(std::nullopt); });
}

seam::grant engine::make_grant(const seam::name_ref& name, const owner_id& owner, fence first,
                               duration lease, time_point sent, bool wanted) const {
  return {.name = name,
          .owner = owner,
          .first = first,
          .last = last_of_block(first),
          .lease = lease,
          .sent = sent,
          .offer = false,
          .wanted = wanted || how_.share_with_foreigners};
}

seam::answer engine::ask(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  if (claim.wait) room_.asking(claim.name, claim.owner);
  const ask_words words{claim, subscription_.listens()};
  time_point sent = clock_.now();
  ask_outcome result;
  try {
    const auto once = [&] {
      return run(words.call(claim, keys_, self_), claim.name->view(), give_up,
                 [&](const reply& said) { return note_answer(claim, said, sent); });
    };
    const std::uint64_t resent = connection_.resent();
    result = once();
    // It may have met an old hold of this client, whose release had to be sent again meanwhile.
    if (result.answer.result == seam::ask_result::busy && connection_.resent() != resent) {
      sent = clock_.now();
      result = once();
    }
  } catch (const error& why) {
    note_failure(claim, why);
    throw;
  }
  if (result.overtaken_by) events_.granted(*result.overtaken_by);
  return std::move(result.answer);
}

engine::ask_outcome engine::note_answer(const seam::claim& claim, const reply& said,
                                        time_point sent) {
  ask_outcome result;
  cursor in{said};
  long long verdict = 1;
  fence first;
  bool wanted = false;
  if (in.kind() == reply::kind::text) {
    first = fence{in.digits()};
  } else {
    in.array();
    verdict = in.number();
    if (verdict == 1) {
      first = fence{in.digits()};
      wanted = in.number() != 0;
    }
  }
  if (verdict == 1) {
    result.answer.result = seam::ask_result::granted;
    result.answer.granted = make_grant(claim.name, claim.owner, first, claim.lease, sent, wanted);
  }
  if (verdict == 0 && !in.done()) note_stranger(*claim.name, in.text());
  if (!claim.wait) return result;
  if (verdict != 2) {
    room_.not_in_line(claim.owner);
    return result;
  }
  const seam::ticket_number ticket = in.digits();
  result.answer.result = seam::ask_result::in_line;
  result.answer.look_after = std::chrono::milliseconds{in.number()};
  const std::string_view strange = in.done() ? std::string_view{} : in.text();
  if (!strange.empty()) note_stranger(*claim.name, strange);
  if (!in.done()) {
    const seam::lock_guard guard{turns_mutex_};
    const duration look = turns_.meet(claim.name->view(), in.text(), clock_.now());
    result.answer.look_after = std::min(result.answer.look_after, look);
  }
  if (!subscription_.listens()) {
    result.answer.look_after = std::min(result.answer.look_after, look_when_deaf);
  }
  if (const auto early = room_.in_line(claim.owner, ticket, sent, clock_.now())) {
    result.overtaken_by =
        make_grant(claim.name, claim.owner, early->first, early->lease, sent, early->wanted);
    result.overtaken_by->offer = true;
  }
  return result;
}

void engine::note_failure(const seam::claim& claim, const error& why) {
  if (!claim.wait) return;
  // A place once given is still there when a later ask gets lost; a refusal takes it away.
  if (why.outcome_unknown() || why.which() == errc::unreachable) {
    room_.unanswered(claim.owner);
  } else {
    room_.not_in_line(claim.owner);
  }
}

void engine::ask_async(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  if (claim.wait) room_.asking(claim.name, claim.owner);
  try {
    post_ask({claim, give_up, clock_.now()}, false);
  } catch (const error& why) {
    note_failure(claim, why);
    throw;
  }
}

void engine::post_ask(const ask_under_way& ask, bool by_text) {
  const ask_words words{ask.claim, subscription_.listens()};
  script_call call = words.call(ask.claim, keys_, self_);
  if (by_text) call.send_text();
  connection_.send(call, ask.give_up, [this, ask](const reply* said, const error* why) {
    const visit this_one{this};
    hear_answer(ask, said, why);
  });
}

void engine::hear_answer(const ask_under_way& ask, const reply* said, const error* why) {
  const seam::claim& claim = ask.claim;
  const seam::claim_key key{*claim.name, claim.owner};
  std::optional<ask_outcome> heard;
  std::optional<error> failure;
  try {
    if (why != nullptr) throw error{*why};
    if (script_unknown(*said)) return post_ask(ask, true);
    if (said->failed()) refuse(said->failure(), claim.name->view());
    heard = note_answer(claim, *said, ask.sent);
    if (heard->answer.result == seam::ask_result::in_line) {
      subscription_.read_for_absent(clock_.now() + heard->answer.look_after + asks_again_within);
    }
  } catch (const error& caught) {
    failure = caught;
    note_failure(claim, caught);
  }
  if (failure) return events_.failed(key, *failure);
  events_.answered(claim, heard->answer);
  if (heard->overtaken_by) events_.granted(*heard->overtaken_by);
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  room_.forget(claim.owner);
  const word owner = word::owner(claim.owner);
  std::string lease{word::milliseconds(claim.lease).view()};
  lease += ' ';
  lease += word::milliseconds(seam::offer_lease(claim.lease)).view();
  const std::string demand = demand_word(claim);
  run({scripts().withdraw, claim.name->view(), keys_, {owner.view(), "0", lease, self_, demand}},
      claim.name->view(), give_up, [](const reply&) { return 0; });
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  room_.forget(grant.owner);
  const word holder = word::holder(grant.owner, grant.first);
  script_call what{scripts().release, grant.name->view(), keys_, {holder.view()}};
  const auto answers = call(what, give_up);
  const reply& said = answers[0];
  if (said.failed()) refuse(said.failure(), grant.name->view());
  return cursor{said}.number() == 1 ? seam::release_answer::released
                                    : seam::release_answer::not_owner;
}

void engine::write_release(std::string& out, const seam::grant& grant, bool by_text) const {
  const word holder = word::holder(grant.owner, grant.first);
  script_call what{scripts().release, grant.name->view(), keys_, {holder.view()}};
  if (by_text) what.send_text();
  what.write(out);
}

void engine::post_release(std::span<const seam::parting_ref> batch, time_point) noexcept {
  for (const seam::parting_ref& one : batch) room_.forget(one->leaving().owner);
  connection_.post(batch);
}

void engine::await_news(seam::clock&, seam::park_word& word, std::uint32_t expected,
                        time_point until) {
  subscription_.await(word, expected, until);
}

void engine::rouse(seam::clock&, seam::park_word& word) noexcept { subscription_.rouse(word); }

void engine::hear(std::string_view message) {
  const visit this_one{this};
  const push news = read_push(message);
  if (news.what == push::kind::unknown) return;
  const seam::pushed_grant& about = news.about;
  const seam::claim_key key{*about.name, about.owner};
  switch (news.what) {
    case push::kind::look:
      return events_.look_again(key);
    case push::kind::wanted:
      return events_.wanted(key);
    case push::kind::revoked:
      return events_.failed(
          key, make_error(errc::lost, "'" + about.name->str() + "' was broken by force"));
    case push::kind::cell_changed:
      return events_.cell_changed(*about.name);
    case push::kind::granted:
    case push::kind::unknown:
      break;
  }
  const auto verdict = room_.judge(about, clock_.now());
  switch (verdict.is) {
    case seam::waiting_room::worth::counts: {
      seam::grant grant =
          make_grant(about.name, about.owner, about.first, about.lease, verdict.sent, about.wanted);
      grant.offer = true;
      return events_.granted(grant);
    }
    case seam::waiting_room::worth::news:
      return events_.look_again(key);
    case seam::waiting_room::worth::unknown:
      return give_back_offer(about, false);
    case seam::waiting_room::worth::too_soon:
    case seam::waiting_room::worth::nothing:
      return;
  }
}

void engine::give_back_offer(const seam::pushed_grant& offer, bool by_text) {
  const word owner = word::owner(offer.owner);
  const word ticket = word::number(static_cast<std::uint64_t>(offer.ticket));
  script_call call{scripts().withdraw, offer.name->view(), keys_, {owner.view(), ticket.view()}};
  if (by_text) call.send_text();
  try {
    connection_.send(call, clock_.now() + background_timeout,
                     [this, offer, by_text](const reply* said, const error*) {
                       if (said && script_unknown(*said) && !by_text) give_back_offer(offer, true);
                     });
  } catch (const error&) {
    // It ends by itself: an offer is short.
  }
}

void engine::everybody_looks() {
  for (const seam::pushed_grant& one : room_.waiting()) {
    events_.look_again({*one.name, one.owner});
  }
  for (const seam::name_ref& cell : cells_.all(clock_.now())) events_.cell_changed(*cell);
}

bool engine::on_own_thread() const noexcept {
  return visited == this || subscription_.is_current();
}

void engine::close() noexcept {
  if (std::exchange(closed_, true)) return;
  subscription_.stop();
  end_watches();
  connection_.close();
  room_.clear();
}

void engine::abandon() noexcept {
  closed_ = true;
  connection_.abandon();
  subscription_.abandon();
}

}  // namespace crosslock::redis
