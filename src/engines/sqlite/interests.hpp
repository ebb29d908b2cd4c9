// What this client waits for and holds: whose news it wants to hear.
#pragma once

#include "engine/guarded.hpp"
#include "engines/sqlite/protocol.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace crosslock::sqlite {

struct interest {
  enum class kind { asking, waiting, holding };

  seam::name_ref name;
  owner_id owner{};
  kind is = kind::asking;
  ticket_number ticket = 0;
  bool near = false;  ///< waiting, and soon to be the first
  bool asked_before = false;
};

using seam::remembered;

/// Thread-safe.
class interests {
 public:
  /// An ask goes out; what earlier ones have left to remember.
  remembered asking(const seam::claim& claim);
  void waiting(const lock_name& name, const owner_id& owner, ticket_number ticket, bool near);
  void holding(const seam::name_ref& name, const owner_id& owner);
  /// A wake-up brought it; false when nobody here waits for it any more.
  bool brought(const lock_name& name, const owner_id& owner);
  /// An ask failed that may have been carried out: the next must look for its traces.
  void in_doubt(const lock_name& name, const owner_id& owner);
  /// Returns what was remembered, for whoever withdraws it.
  remembered forget(const lock_name& name, const owner_id& owner);
  void clear();

  /// Under any name with that hash.
  std::vector<interest> about(std::uint32_t name_hash) const;
  std::vector<interest> all() const;
  std::vector<interest> all_waiting() const;
  /// How many are near to their turn, as far as is known.
  std::size_t near() const noexcept { return near_.load(); }
  bool any_waiting() const noexcept { return waiting_.load() > 0; }
  bool any() const noexcept { return any_.load(); }
  /// One who still waits under that ticket has come near, or is not so near any more.
  void note_place(const lock_name& name, const owner_id& owner, ticket_number ticket, bool near);

 private:
  using key = std::pair<std::uint32_t, owner_id>;  // the hash of the name, because that is all a
                                                   // wake-up tells
  using table = std::map<key, interest>;

  table::iterator find(const lock_name& name, const owner_id& owner) CROSSLOCK_REQUIRES(mutex_);
  interest& find_or_add(const seam::name_ref& name, const owner_id& owner)
      CROSSLOCK_REQUIRES(mutex_);
  void become(interest& mine, interest::kind next, bool near = false) CROSSLOCK_REQUIRES(mutex_);

  mutable seam::mutex mutex_;
  table entries_ CROSSLOCK_GUARDED_BY(mutex_);
  // Changed with the mutex, and read without it by a thread that asks all clients now and then.
  std::atomic<std::size_t> near_{0};
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> any_{false};
};

}  // namespace crosslock::sqlite
