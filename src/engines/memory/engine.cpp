// Each verb notes the time, makes one message, and turns the reply into the words of the seam.
// Nothing here touches a member after it has called engine_events: the core may close the
// engine there.
#include "engines/memory/engine.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace crosslock::memory {

namespace {

using namespace std::chrono_literals;

constexpr duration unheard_release = 100ms;

seam::traits offered_by(const network& network) {
  seam::traits traits = offered;
  traits.posts_releases = !network.is_immediate();
  return traits;
}

seam::name_ref share(const lock_name& name) { return std::make_shared<const lock_name>(name); }

seam::grant make_grant(const seam::name_ref& name, const owner_id& owner, const given& given,
                       time_point sent, bool offer) {
  return {.name = name,
          .owner = owner,
          .first = given.first,
          .last = given.last,
          .lease = given.lease,
          .sent = sent,
          .offer = offer,
          .wanted = given.wanted};
}

}  // namespace

engine::engine(std::shared_ptr<network> network, seam::engine_events& events, seam::clock& clock,
               const std::string& who)
    : events_{events},
      clock_{clock},
      who_{std::make_shared<const std::string>(who)},
      traits_{offered_by(*network)},
      connection_{connection::open(std::move(network), clock,
                                   [this](const push& news) { return hear(news); })} {}

engine::~engine() { connection_->close(); }

const seam::traits& engine::about() const noexcept { return traits_; }

seam::answer engine::ask(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  await_releases(*claim.name, give_up);
  if (claim.wait) room_.asking(claim.name, claim.owner);
  const time_point sent = clock_.now();
  ask_outcome result;
  try {
    const reply answer = connection_->call(ask_request{claim, who_}, give_up);
    result = note_answer(claim, std::get<ask_reply>(answer), sent);
  } catch (const error& why) {
    note_failure(claim, why);
    throw;
  }
  if (result.overtaken_by) events_.granted(*result.overtaken_by);
  return std::move(result.answer);
}

void engine::ask_async(const seam::claim& claim, time_point give_up) {
  seam::refuse_lease(offered, claim.lease);
  if (comes_behind_release(claim, give_up)) return;
  if (claim.wait) room_.asking(claim.name, claim.owner);
  const time_point sent = clock_.now();
  try {
    connection_->send(
        ask_request{claim, who_}, give_up,
        [this, claim, sent](const outcome& result) { hear_answer(claim, sent, result); });
  } catch (const error& why) {
    note_failure(claim, why);
    throw;
  }
}

void engine::hear_answer(const seam::claim& claim, time_point sent, const outcome& result) {
  seam::engine_events& events = events_;
  const seam::claim_key key{*claim.name, claim.owner};
  if (const auto* why = std::get_if<error>(&result)) {
    note_failure(claim, *why);
    events.failed(key, *why);
    return;
  }
  const ask_outcome heard = note_answer(claim, std::get<ask_reply>(std::get<reply>(result)), sent);
  events.answered(claim, heard.answer);
  if (heard.overtaken_by) events.granted(*heard.overtaken_by);
}

engine::ask_outcome engine::note_answer(const seam::claim& claim, const ask_reply& heard,
                                        time_point sent) {
  ask_outcome result;
  result.answer.result = heard.result;
  if (heard.result == seam::ask_result::granted) {
    result.answer.granted = make_grant(claim.name, claim.owner, heard.granted, sent, false);
  }
  if (!claim.wait) return result;
  if (heard.result != seam::ask_result::in_line) {
    room_.not_in_line(claim.owner);
    return result;
  }
  result.answer.look_after = heard.look_after;
  if (const auto early = room_.in_line(claim.owner, heard.ticket, sent, clock_.now())) {
    result.overtaken_by =
        make_grant(claim.name, claim.owner,
                   {early->first, early->last, early->lease, early->wanted}, sent, true);
  }
  return result;
}

void engine::note_failure(const seam::claim& claim, const error& why) {
  if (!claim.wait) return;
  // A place once given is still there when a later ask gets lost; a refusal takes it away.
  const bool lost_on_the_way = why.outcome_unknown() || why.which() == errc::unreachable;
  if (lost_on_the_way) {
    room_.unanswered(claim.owner);
  } else {
    room_.not_in_line(claim.owner);
  }
}

void engine::withdraw(const seam::claim& claim, time_point give_up) {
  room_.forget(claim.owner);
  connection_->call(withdraw_request{claim.name, claim.owner, 0}, give_up);
}

void engine::renew(std::span<seam::renewal> batch, time_point give_up) {
  renew_request message;
  message.items.reserve(batch.size());
  for (const seam::renewal& one : batch) {
    seam::refuse_lease(offered, one);
    message.items.push_back({.name = one.held.name,
                             .owner = one.held.owner,
                             .first = one.held.first,
                             .last = one.held.last,
                             .lease = one.lease,
                             .want_fences = one.want_fences,
                             .share = one.share});
  }
  const time_point sent = clock_.now();
  const reply answer = connection_->call(std::move(message), give_up);
  const auto& outcomes = std::get<renew_reply>(answer).outcomes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    seam::renewal& one = batch[i];
    one.outcome =
        outcomes[i].renewed ? seam::renewal::result::renewed : seam::renewal::result::lost;
    one.granted_lease = outcomes[i].lease;
    one.sent = sent;
    one.more_first = outcomes[i].more_first;
    one.more_last = outcomes[i].more_last;
    one.wanted = outcomes[i].wanted;
  }
}

seam::release_answer engine::release(const seam::grant& grant, time_point give_up) {
  room_.forget(grant.owner);
  const reply answer =
      connection_->call(release_request{grant.name, grant.owner, grant.first}, give_up);
  return std::get<release_reply>(answer).answer;
}

void engine::post_release(std::span<const seam::parting_ref> batch, time_point give_up) noexcept {
  // Asks of the same name wait for it: not for as long as somebody would who wants the answer.
  give_up = std::min(give_up, clock_.now() + unheard_release);
  for (const seam::parting_ref& one : batch) {
    const seam::grant& grant = one->leaving();
    room_.forget(grant.owner);
    {
      const seam::lock_guard guard{mutex_};
      ++releases_[grant.name->str()].open;
    }
    try {
      connection_->send(release_request{grant.name, grant.owner, grant.first}, give_up,
                        [this, one](const outcome& result) { release_answered(one, result); });
    } catch (const error& why) {
      release_answered(one, why);
    }
  }
}

void engine::release_answered(const seam::parting_ref& one, const outcome& result) {
  const seam::name_ref name = one->leaving().name;
  std::vector<std::pair<seam::claim, time_point>> asks;
  {
    const seam::lock_guard guard{mutex_};
    const auto found = releases_.find(name->str());
    if (found != releases_.end() && --found->second.open == 0) {
      asks = std::move(found->second.asks);
      releases_.erase(found);
    }
    released_.fetch_add(1);
  }
  clock_.unpark(released_);
  seam::engine_events& events = events_;
  for (const auto& [claim, give_up] : asks) {
    try {
      ask_async(claim, give_up);
    } catch (const error& why) {
      events.failed({*claim.name, claim.owner}, why);
    }
  }
  const auto* const heard = std::get_if<reply>(&result);
  one->left(heard ? std::optional{std::get<release_reply>(*heard).answer} : std::nullopt);
}

void engine::await_releases(const lock_name& name, time_point give_up) {
  seam::park_unless(clock_, released_, [&]() -> std::optional<time_point> {
    const seam::lock_guard guard{mutex_};
    const bool over = closed_ || !releases_.contains(name.view()) || clock_.now() >= give_up;
    return over ? std::nullopt : std::optional{give_up};
  });
}

bool engine::comes_behind_release(const seam::claim& claim, time_point give_up) {
  const seam::lock_guard guard{mutex_};
  const auto found = releases_.find(claim.name->view());
  if (closed_ || found == releases_.end()) return false;
  found->second.asks.emplace_back(claim, give_up);
  return true;
}

std::optional<seam::grant> engine::adopt(const seam::grant& detached, const seam::claim& next,
                                         time_point give_up) {
  seam::refuse_lease(offered, next.lease);
  const time_point sent = clock_.now();
  const reply answer =
      connection_->call(adopt_request{detached.owner, detached.first, next, who_}, give_up);
  const auto& result = std::get<adopt_reply>(answer);
  if (!result.adopted) return std::nullopt;
  return make_grant(next.name, next.owner, result.granted, sent, false);
}

bool engine::break_lock(const lock_name& name, owner_id owner, time_point give_up) {
  const reply answer = connection_->call(break_request{share(name), owner}, give_up);
  return std::get<break_reply>(answer).broken;
}

lock_info engine::look(const lock_name& name, time_point give_up) {
  await_releases(name, give_up);
  reply answer = connection_->call(look_request{share(name)}, give_up);
  return std::get<look_reply>(std::move(answer)).info;
}

std::vector<lock_info> engine::list(std::string_view prefix, time_point give_up) {
  reply answer = connection_->call(list_request{std::string{prefix}}, give_up);
  return std::get<list_reply>(std::move(answer)).infos;
}

seam::cell engine::read_cell(const lock_name& name, time_point give_up) {
  reply answer = connection_->call(read_cell_request{share(name), {}}, give_up);
  return std::get<read_cell_reply>(std::move(answer)).found;
}

seam::cell engine::watch_cell(const lock_name& name, duration span, time_point give_up) {
  reply answer = connection_->call(read_cell_request{share(name), span}, give_up);
  return std::get<read_cell_reply>(std::move(answer)).found;
}

seam::swap_answer engine::swap_cell(const seam::cell_swap& wanted, time_point give_up) {
  seam::refuse_long_value(offered.name, wanted);
  reply answer = connection_->call(swap_cell_request{wanted}, give_up);
  return std::get<swap_cell_reply>(std::move(answer)).answer;
}

std::optional<seam::cell> engine::open_cell(const lock_name& name, fence token,
                                            time_point give_up) {
  reply answer = connection_->call(open_cell_request{share(name), token}, give_up);
  return std::get<open_cell_reply>(std::move(answer)).opened;
}

std::optional<request> engine::hear(const push& news) {
  const seam::claim_key key{*news.name, news.owner};
  switch (news.what) {
    case push::kind::look_again:
      events_.look_again(key);
      return std::nullopt;
    case push::kind::wanted:
      events_.wanted(key);
      return std::nullopt;
    case push::kind::revoked:
      events_.failed(key, make_error(errc::lost, "'" + news.name->str() + "' was broken by force"));
      return std::nullopt;
    case push::kind::cell_changed:
      events_.cell_changed(*news.name);
      return std::nullopt;
    case push::kind::granted:
      break;
  }
  const auto verdict = room_.judge(grant_in(news), clock_.now());
  switch (verdict.is) {
    case seam::waiting_room::worth::counts:
      events_.granted(make_grant(news.name, news.owner, news.offer, verdict.sent, true));
      break;
    case seam::waiting_room::worth::news:
      events_.look_again(key);
      break;
    case seam::waiting_room::worth::unknown:
      return withdraw_request{news.name, news.owner, news.ticket};
    case seam::waiting_room::worth::too_soon:
    case seam::waiting_room::worth::nothing:
      break;
  }
  return std::nullopt;
}

std::vector<seam::finding> engine::examine(time_point) {
  return {{.weight = seam::severity::note,
           .topic = "reach",
           .text = "these locks are in the memory of one process: they exclude its threads, and "
                   "nobody else",
           .code = {}}};
}

void engine::close() noexcept {
  {
    const seam::lock_guard guard{mutex_};
    closed_ = true;
    released_.fetch_add(1);
  }
  clock_.unpark(released_);
  connection_->close();
  room_.clear();
}

/// There is no descriptor to close, and the mutexes may be locked by threads of the parent.
void engine::abandon() noexcept {}

}  // namespace crosslock::memory
