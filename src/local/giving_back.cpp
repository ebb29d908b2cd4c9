// Giving back: a hold is released, or its client is closed. Belief and renewals end first. Then the
// server is told, by a round trip (release), or by a request whose answer somebody else reads
// (leave), which is all that unlock() and the end of a hold need.
#include "local/claiming.hpp"
#include "local/client_context.hpp"
#include "local/deferred_actions.hpp"
#include "local/holding.hpp"
#include "local/line.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <utility>

namespace crosslock::inner {
namespace {

release_result result_of(const std::optional<seam::release_answer>& answer) noexcept {
  if (!answer) return release_result::unknown;
  return *answer == seam::release_answer::released ? release_result::released
                                                   : release_result::lost;
}

}  // namespace

// Everything but the server's part. Empty: its grant has to be given back, and nobody else may use
// it any more.
std::optional<release_result> holding::end(critical_section& entered, deferred_actions& after) {
  if (entered.state_.load() != critical_section::state::held) return release_result::not_held;
  entered.state_.store(critical_section::state::released);
  if (entered.lost_reason() != loss_reason::none) return release_result::lost;
  const std::shared_ptr<local_grant>& grant = entered.grant_;
  const time_point now = home_.clock().now();
  if (!grant->only_user_is(entered)) {
    local_grant::remove_user(entered);
    claims_.hurry_upgrade(*grant, after);
    return release_result::released;
  }
  if (may_pass_now(*grant, now) && home_.keeper().hold_begins(*grant, now)) {
    local_grant::remove_user(entered);
    pass(grant, now, after);
    return release_result::passed;
  }
  if (!home_.keeper().end(*grant)) {
    // Lost this very moment. Before the keeper tells the line, this hold may be gone, and the
    // line with it: everything that a loss brings about is done here.
    end_lost(*grant, grant->lost_because.load(), after);
    return release_result::lost;
  }
  local_grant::remove_user(entered);
  grant->giving_back = true;
  home_.claim_begins();
  return std::nullopt;
}

/// `give` brings the grant to the server, if it is to be given back.
template <class Give>
std::optional<release_result> holding::end_and(critical_section& entered, const Give& give) {
  deferred_actions after{line_};
  std::optional<release_result> result;
  {
    const seam::lock_guard guard{line_.mutex()};
    result = end(entered, after);
  }
  if (!result) {
    const std::shared_ptr<local_grant> giving = entered.grant_;
    result = give(*giving);
    const seam::lock_guard guard{line_.mutex()};
    forget(*giving);
    claims_.advance(after);
    home_.claim_ends();
  }
  after.run();
  return result;
}

release_result holding::release(critical_section& entered) noexcept {
  return *end_and(entered,
                  [this](local_grant& giving) { return std::optional{give_back(giving)}; });
}

std::optional<release_result> holding::leave(critical_section& entered, farewell told) noexcept {
  // Once it is on its way, what anybody here asks comes behind it.
  return end_and(entered, [&](local_grant& giving) -> std::optional<release_result> {
    giving.told = std::move(told);
    post(giving);
    return std::nullopt;
  });
}

// It counts as a claim that has not ended until the server has answered: closing waits for it.
void holding::post(local_grant& giving) noexcept {
  std::array<seam::parting_ref, 2> batch;
  const std::size_t count = giving.prepare_to_leave(home_, batch);
  home_.claim_begins();
  home_.engine().post_release(std::span{batch}.first(count), home_.give_up());
}

std::size_t local_grant::prepare_to_leave(client_context& from,
                                          std::array<seam::parting_ref, 2>& batch) noexcept {
  home = &from;
  until = from.clock().now() + claim.lease;
  std::size_t count = 0;
  // While the upgraded grant was there, the shared one stood in nobody's way. Now it would: it
  // goes first.
  if (retired && !retired->given_back.load()) {
    retired->until = until;
    batch[count++] = retired;
  }
  batch[count++] = shared_from_this();
  return count;
}

void local_grant::left(std::optional<seam::release_answer> answer) noexcept {
  client_context& client = *home;
  if (!answer && client.open_for_calls()) {
    client.keeper().release_later(grant, until);
  }
  const release_result result = result_of(answer);
  if (told.report && client.observer()) {
    client.observer()->released({.name = claim.name->view(),
                                 .owner = claim.owner,
                                 .fence = told.fence,
                                 .result = result,
                                 .held = client.clock().now() - told.since});
  }
  if (told.done) {
    client.callback_runner().post([done = std::move(told.done), result] { done(result); });
  }
  client.claim_ends();  // the last word: the client may end now
}

void retired_grant::left(std::optional<seam::release_answer> answer) noexcept {
  if (answer) given_back.store(true);  // else the background goes on with it
}

// The keeper has ended it: no renewal begins after the release.
release_result holding::give_back(local_grant& giving) noexcept {
  give_back_retired(giving);
  try {
    return result_of(home_.engine().release(giving.grant, home_.give_up()));
  } catch (const std::exception& why) {
    home_.settings().say(log_level::warning, "release of '", line_.name()->view(),
                         "' goes on in the background: ", why.what());
    release_late(giving);
    return release_result::unknown;
  }
}

void holding::give_back_retired(const local_grant& successor) noexcept {
  if (!successor.retired || successor.retired->given_back.load()) return;
  try {
    home_.engine().release(successor.retired->grant, home_.give_up());
  } catch (const std::exception&) {
    // The background goes on with it.
  }
}

void holding::release_late(const lease_record& ended) noexcept {
  home_.keeper().release_later(ended.grant, home_.clock().now() + ended.claim.lease);
}

std::vector<std::shared_ptr<local_grant>> holding::close(deferred_actions& after) {
  std::vector<std::shared_ptr<local_grant>> giving;
  for (const auto& grant : grants_) {
    if (grant->giving_back) continue;
    tell_users(*grant, loss_reason::closed, after);
    grant->giving_back = true;
    giving.push_back(grant);
  }
  return giving;
}

void holding::give_back_all(const std::vector<std::shared_ptr<local_grant>>& closed,
                            std::vector<seam::parting_ref>& batch) noexcept {
  for (const auto& grant : closed) {
    if (!home_.keeper().end(*grant)) {
      release_late(*grant);
      continue;
    }
    home_.claim_begins();
    std::array<seam::parting_ref, 2> both;
    const std::size_t count = grant->prepare_to_leave(home_, both);
    try {
      batch.insert(batch.end(), both.begin(), both.begin() + static_cast<std::ptrdiff_t>(count));
    } catch (const std::bad_alloc&) {
      home_.engine().post_release(std::span{both}.first(count), home_.give_up());
    }
  }
  const seam::lock_guard guard{line_.mutex()};
  for (const auto& grant : closed) forget(*grant);
}

}  // namespace crosslock::inner
