// What the engine reports goes to whom it concerns: a claim that waits, or a grant that is held.
#include "local/line.hpp"

#include "local/deferred_actions.hpp"

#include <utility>

namespace crosslock::inner {

line::line(client_context& home, seam::name_ref name, seam::name_ref given_name, bool common)
    : home_{home},
      name_{std::move(name)},
      given_name_{std::move(given_name)},
      common_{common},
      claims_{*this, home, holds_},
      holds_{*this, home, claims_} {}

line::~line() { home_.forget(*this); }

error line::shared_hold_lost(const critical_section& shared) const {
  if (shared.lost_reason() == loss_reason::none) {
    return error{errc::not_held,
                 "the shared hold of '" + given_name_->str() + "' was released before its upgrade"};
  }
  return error{errc::lost, "the shared hold of '" + given_name_->str() + "' was lost"};
}

bool line::answered(const owner_id& owner, const seam::answer& answer) {
  deferred_actions after{*this};
  {
    const seam::lock_guard guard{mutex()};
    waiter* const claimant = claims_.claimant_of(owner);
    // Held, or being given back: what an older ask brings is known already.
    if (!claimant) return holds_.find(owner) != nullptr;
    after.ask_elsewhere();
    claims_.answered(*claimant, answer, after);
  }
  after.run();
  return true;
}

bool line::granted(const seam::grant& grant) {
  deferred_actions after{*this};
  {
    const seam::lock_guard guard{mutex()};
    waiter* const claimant = claims_.claimant_of(grant.owner);
    if (!claimant) return holds_.find(grant.owner) != nullptr;
    after.ask_elsewhere();
    claims_.granted(*claimant, grant, after);
  }
  after.run();
  return true;
}

bool line::look_again(const owner_id& owner) {
  deferred_actions after{*this};
  {
    const seam::lock_guard guard{mutex()};
    waiter* const claimant = claims_.claimant_of(owner);
    if (!claimant) return false;
    after.ask_elsewhere();
    claims_.look_again(*claimant, after);
  }
  after.run();
  return true;
}

bool line::wanted(const owner_id& owner) {
  const seam::lock_guard guard{mutex()};
  // It may overtake the answer that brings the grant.
  waiter* const claimant = claims_.claimant_of(owner);
  const auto grant = claimant ? claimant->record : holds_.find(owner);
  if (grant) holds_.note_wanted(*grant);
  return grant != nullptr;
}

bool line::failed(const owner_id& owner, const error& why) {
  deferred_actions after{*this};
  const bool ended = why.which() == errc::lost;
  std::shared_ptr<local_grant> taken_away;
  {
    const seam::lock_guard guard{mutex()};
    waiter* const claimant = claims_.claimant_of(owner);
    after.ask_elsewhere();
    if (claimant && ended) {
      claims_.revoked(*claimant, after);
    } else if (claimant) {
      claims_.failed(*claimant, why, after);
    } else {
      const auto grant = holds_.find(owner);
      if (!grant) return false;
      // An ask that ran out of time after a push had brought the grant says nothing about it.
      if (ended && !grant->giving_back) taken_away = grant;
    }
  }
  after.run();
  if (taken_away) home_.keeper().lose(*taken_away, loss_reason::broken);
  return true;
}

void line::close(std::vector<seam::parting_ref>& given_back) noexcept {
  deferred_actions after{*this};
  std::vector<std::shared_ptr<local_grant>> held;
  {
    const seam::lock_guard guard{mutex()};
    closed_ = true;
    claims_.close(after);
    held = holds_.close(after);
  }
  // The holders are told before the release lets the next one in.
  after.run();
  holds_.give_back_all(held, given_back);
}

}  // namespace crosslock::inner
