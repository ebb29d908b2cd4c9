// An ordered table, so that those of one name stand together.
#include "engines/sqlite/interests.hpp"

#include "engines/sqlite/wake_file.hpp"

namespace crosslock::sqlite {

interests::table::iterator interests::find(const lock_name& name, const owner_id& owner) {
  return entries_.find({wake_file::hash_of(name.view()), owner});
}

interest& interests::find_or_add(const seam::name_ref& name, const owner_id& owner) {
  const auto [it, fresh] = entries_.try_emplace({wake_file::hash_of(name->view()), owner});
  if (fresh) it->second = {.name = name, .owner = owner};
  if (!any_.load()) any_.store(true);
  return it->second;
}

void interests::become(interest& mine, interest::kind next, bool near) {
  if (near != mine.near) near_.fetch_add(static_cast<std::size_t>(near ? 1 : -1));
  const bool waits = next == interest::kind::waiting;
  if (waits != (mine.is == interest::kind::waiting)) {
    waiting_.fetch_add(static_cast<std::size_t>(waits ? 1 : -1));
  }
  mine.near = near;
  mine.is = next;
}

remembered interests::asking(const seam::claim& claim) {
  const seam::lock_guard guard{mutex_};
  interest& mine = find_or_add(claim.name, claim.owner);
  become(mine, interest::kind::asking);
  return {mine.asked_before, mine.ticket};
}

void interests::waiting(const lock_name& name, const owner_id& owner, ticket_number ticket,
                        bool near) {
  const seam::lock_guard guard{mutex_};
  const auto it = find(name, owner);
  // Withdrawn meanwhile; or the grant has overtaken the answer.
  if (it == entries_.end() || it->second.is == interest::kind::holding) return;
  interest& mine = it->second;
  become(mine, interest::kind::waiting, near);
  mine.ticket = ticket;
  mine.asked_before = true;
}

void interests::holding(const seam::name_ref& name, const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  interest& mine = find_or_add(name, owner);
  become(mine, interest::kind::holding);
  mine.ticket = 0;
  mine.asked_before = true;
}

bool interests::brought(const lock_name& name, const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  const auto it = find(name, owner);
  if (it == entries_.end() || it->second.is == interest::kind::holding) return false;
  become(it->second, interest::kind::holding);
  return true;
}

void interests::in_doubt(const lock_name& name, const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  const auto it = find(name, owner);
  if (it != entries_.end()) it->second.asked_before = true;
}

remembered interests::forget(const lock_name& name, const owner_id& owner) {
  const seam::lock_guard guard{mutex_};
  const auto it = find(name, owner);
  if (it == entries_.end()) return {true, 0};
  const remembered last{true, it->second.ticket};
  become(it->second, interest::kind::asking);
  entries_.erase(it);
  if (entries_.empty()) any_.store(false);
  return last;
}

void interests::clear() {
  const seam::lock_guard guard{mutex_};
  entries_.clear();
  near_.store(0);
  waiting_.store(0);
  any_.store(false);
}

std::vector<interest> interests::about(std::uint32_t name_hash) const {
  std::vector<interest> found;
  const seam::lock_guard guard{mutex_};
  for (auto it = entries_.lower_bound({name_hash, {}});
       it != entries_.end() && it->first.first == name_hash; ++it) {
    found.push_back(it->second);
  }
  return found;
}

std::vector<interest> interests::all() const {
  std::vector<interest> found;
  const seam::lock_guard guard{mutex_};
  for (const auto& [hash, each] : entries_) found.push_back(each);
  return found;
}

std::vector<interest> interests::all_waiting() const {
  std::vector<interest> found;
  const seam::lock_guard guard{mutex_};
  if (!any_waiting()) return found;
  for (const auto& [hash, each] : entries_) {
    if (each.is == interest::kind::waiting) found.push_back(each);
  }
  return found;
}

void interests::note_place(const lock_name& name, const owner_id& owner, ticket_number ticket,
                           bool near) {
  const seam::lock_guard guard{mutex_};
  const auto it = find(name, owner);
  if (it == entries_.end() || it->second.is != interest::kind::waiting) return;
  if (it->second.ticket == ticket) become(it->second, interest::kind::waiting, near);
}

}  // namespace crosslock::sqlite
