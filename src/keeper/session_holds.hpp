// What is held within sessions: one deadline to look at, however many holds there are.
#pragma once

#include "keeper/lease_record.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// A client has one session, or for a while two: a new one, and one that is over. One thread at a
/// time.
class session_holds {
 public:
  void add(std::shared_ptr<lease_record> hold) {
    group& home = group_of(hold->grant.session);
    hold->index_in_session = home.holds.size();
    home.holds.push_back(std::move(hold));
  }

  /// Harmless when it is not here.
  void remove(lease_record& hold) noexcept {
    const std::size_t index = std::exchange(hold.index_in_session, lease_record::nowhere);
    if (index == lease_record::nowhere) return;
    const auto home = std::ranges::find(groups_, hold.grant.session, &group::session);
    std::swap(home->holds[index], home->holds.back());
    // The last owner may be this one: it is not to be destroyed before it has left the group.
    const std::shared_ptr<lease_record> gone = std::move(home->holds.back());
    home->holds.pop_back();
    if (index < home->holds.size()) home->holds[index]->index_in_session = index;
    // The newest stays: whoever locks and unlocks in turn allocates nothing.
    if (home->holds.empty() && home + 1 != groups_.end()) groups_.erase(home);
  }

  /// When the first session has to be looked at.
  time_point first_moment() const noexcept {
    time_point first = time_point::max();
    for (const group& one : groups_) {
      if (!one.holds.empty()) first = std::min(first, one.session->tell_at());
    }
    return first;
  }

  /// Takes the holds out of those sessions that have ended, or whose time has come.
  std::vector<std::shared_ptr<lease_record>> take_over(time_point now) {
    std::vector<std::shared_ptr<lease_record>> taken;
    for (group& one : groups_) {
      if (!one.session->ended() && one.session->tell_at() > now) continue;
      for (auto& hold : one.holds) {
        hold->index_in_session = lease_record::nowhere;
        taken.push_back(std::move(hold));
      }
      one.holds.clear();
    }
    return taken;
  }

 private:
  struct group {
    std::shared_ptr<const seam::session> session;
    std::vector<std::shared_ptr<lease_record>> holds;
  };

  group& group_of(const std::shared_ptr<const seam::session>& session) {
    const auto found = std::ranges::find(groups_, session, &group::session);
    if (found != groups_.end()) return *found;
    std::erase_if(groups_, [](const group& one) { return one.holds.empty(); });
    groups_.push_back({session, {}});
    return groups_.back();
  }

  std::vector<group> groups_;
};

}  // namespace crosslock::inner
