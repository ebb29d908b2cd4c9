// What we know of our own claims on the server.
#pragma once

#include "engine/claim.hpp"
#include "engine/guarded.hpp"
#include "session/tree.hpp"

#include <crosslock/fence.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crosslock::session {

/// One claim. Guarded by the mutex of its table.
struct standing {
  enum class phase {
    asking,   ///< an ask is under way, or has failed
    waiting,  ///< in line, told so
    held,
    leaving,  ///< its nodes are being removed, until that is certain
  };

  seam::claim claim{};
  std::string name_path{};  ///< the path of the name
  std::string parent{};     ///< where its node is: that path, or something below it

  phase now = phase::asking;
  std::uint64_t ask = 0;       ///< which ask may still change this
  time_point asked{};          ///< when that began
  session_number session = 0;  ///< whose nodes these are
  bool sent = false;           ///< a node may exist, known or not
  bool upgrade_judged = false;
  std::string node{};         ///< the path of its node in line; empty: not known, or none
  std::int32_t sequence = 0;  ///< for engines whose places have one
  fence first{};
  std::vector<std::string> leases{};  ///< permits that it holds, where each is a node
  bool was_held = false;              ///< it has been let in: nobody stands before it any more
  bool readers_node = false;          ///< downgraded: the node is a reader's
  bool replacing = false;             ///< being downgraded: which node there is is not known

  // While it waits.
  std::string watched{};
  bool alone_before = false;  ///< nobody but the watched one kept it out
  bool word_counts = false;   ///< the watched one is a holder's or will be, and tells its end
  /// A try that stays for a moment, instead of events. False: the moment is over.
  std::function<void(bool)> go_on{};
  time_point stays_until{};
  time_point looked{};

  // While it is held.
  time_point since{};
  bool guarded = false;  ///< we hear when somebody removes it by hand
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  std::size_t index_among_unguarded = nowhere;

  bool refused = false;  ///< leaving: the server would not have it, so again later
  hearer left_later{};   ///< leaving: who waits for the next try, as the last was cut off

  bool expects_news = false;  ///< no thread listens for it
};

using standing_ref = std::shared_ptr<standing>;

/// All of them, and who watches what.
class claims {
 public:
  mutable seam::mutex mutex;

  standing_ref find(const owner_id& owner) const CROSSLOCK_REQUIRES(mutex) {
    const auto it = all_.find(owner);
    return it == all_.end() ? nullptr : it->second;
  }
  void add(const standing_ref& one) CROSSLOCK_REQUIRES(mutex) {
    all_.insert_or_assign(one->claim.owner, one);
  }
  void forget(const standing_ref& one) CROSSLOCK_REQUIRES(mutex);
  /// It has been let in.
  void hold(const standing_ref& one, time_point now) CROSSLOCK_REQUIRES(mutex);
  /// It is not guarded, and shall be if it lasts.
  void guard_later(const standing_ref& one) CROSSLOCK_REQUIRES(mutex);
  /// It stays for a moment.
  void stay(const standing_ref& one, time_point until, std::function<void(bool)> go_on)
      CROSSLOCK_REQUIRES(mutex);
  /// The server would not remove it.
  void remove_later(const standing_ref& one) CROSSLOCK_REQUIRES(mutex);
  void watch(const standing_ref& one, const std::string& path) CROSSLOCK_REQUIRES(mutex);
  void unwatch(const standing_ref& one) CROSSLOCK_REQUIRES(mutex);
  /// Whoever watches that path; they do so no longer, for a watch fires once.
  std::vector<standing_ref> take_watchers(const std::string& path) CROSSLOCK_REQUIRES(mutex);
  void guard(const standing_ref& one, const std::string& path) CROSSLOCK_REQUIRES(mutex) {
    guarded_[path] = one;
  }
  /// All watches are set again in one message after a reconnect, and a message has its limit.
  bool room_for_guards() const noexcept CROSSLOCK_REQUIRES(mutex) {
    return guarded_.size() < guards_most;
  }
  void unguard(const std::string& path) CROSSLOCK_REQUIRES(mutex) { guarded_.erase(path); }
  standing_ref guarded(const std::string& path) const CROSSLOCK_REQUIRES(mutex) {
    const auto it = guarded_.find(path);
    return it == guarded_.end() ? nullptr : it->second;
  }
  /// The holder hears when the line behind it changes; told once.
  void listen(const standing_ref& holder) CROSSLOCK_REQUIRES(mutex) {
    listening_[holder->parent] = holder;
  }
  standing_ref take_listener(const std::string& parent) CROSSLOCK_REQUIRES(mutex);
  std::vector<standing_ref> all() const CROSSLOCK_REQUIRES(mutex);

  /// Connected again. What was removed without an answer has to be removed once more; who waits may
  /// have missed news.
  struct unfinished {
    std::vector<standing_ref> leaving;
    std::vector<standing_ref> waiting;
  };
  unfinished after_reconnect() CROSSLOCK_REQUIRES(mutex);
  /// That session is over, and its nodes with it. Who waits has to look; who only stayed for a
  /// moment goes on, to fail; who waits for a removal will never know.
  struct bereft {
    std::vector<standing_ref> waiting;
    std::vector<std::function<void(bool)>> staying;
    std::vector<hearer> leaving;
  };
  bereft after_session(session_number ended) CROSSLOCK_REQUIRES(mutex);
  /// What is to be done now and then: which nodes of holds that began before `old_enough` are to be
  /// guarded from now on, what the server would not remove, who has stayed for too long.
  struct chores {
    std::vector<std::pair<standing_ref, std::string>> to_guard;
    std::vector<standing_ref> refused;
    std::vector<standing_ref> too_long;
  };
  chores due(time_point now, time_point old_enough) CROSSLOCK_REQUIRES(mutex);

 private:
  void drop_unguarded(standing& one) noexcept CROSSLOCK_REQUIRES(mutex);

  static constexpr std::size_t guards_most = 1024;
  struct hash {
    std::size_t operator()(const owner_id& owner) const noexcept {
      std::size_t bits = 0;
      std::memcpy(&bits, owner.bytes().data(), sizeof bits);  // random already
      return bits;
    }
  };
  std::unordered_map<owner_id, standing_ref, hash> all_ CROSSLOCK_GUARDED_BY(mutex);
  std::unordered_multimap<std::string, standing_ref> watching_ CROSSLOCK_GUARDED_BY(mutex);
  std::unordered_map<std::string, standing_ref> guarded_ CROSSLOCK_GUARDED_BY(mutex);
  std::unordered_map<std::string, standing_ref> listening_ CROSSLOCK_GUARDED_BY(mutex);
  // Only these are looked at now and then: what lasts costs nothing.
  std::vector<standing_ref> unguarded_ CROSSLOCK_GUARDED_BY(mutex);
  std::vector<standing_ref> staying_ CROSSLOCK_GUARDED_BY(mutex);
  std::vector<standing_ref> refused_ CROSSLOCK_GUARDED_BY(mutex);
};

}  // namespace crosslock::session
