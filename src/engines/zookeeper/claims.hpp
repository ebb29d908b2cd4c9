// What we know of our own claims on the server.
#pragma once

#include "engine/engine.hpp"
#include "engines/zookeeper/connection.hpp"
#include "engines/zookeeper/node_name.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace crosslock::zookeeper {

/// One claim. Guarded by the mutex of its table.
struct standing {
  enum class phase {
    asking,   ///< an ask is under way, or has failed
    waiting,  ///< in line, told so
    held,
    leaving,  ///< its nodes are being removed, until that is certain
  };

  seam::claim claim{};
  std::string place{};   ///< the path of the name
  std::string parent{};  ///< where its node is: the place, or the queue of a semaphore below it

  phase now = phase::asking;
  std::uint64_t ask = 0;       ///< which ask may still change this
  time_point asked{};          ///< when that began
  session_number session = 0;  ///< whose nodes these are
  bool sent = false;           ///< a node may exist, known or not
  bool upgrade_judged = false;
  std::string node{};  ///< the path of its node in line; empty: not known, or none
  std::int32_t sequence = 0;
  fence first{};
  std::vector<std::string> leases{};  ///< permits that it holds
  bool was_held = false;              ///< it has been let in: nobody stands before it any more
  bool readers_place = false;         ///< downgraded: the node is a reader's
  bool replacing = false;             ///< being downgraded: which node there is is not known

  // While it waits.
  std::string watched{};
  bool alone_before = false;  ///< nobody but the watched one kept it out
  bool word_counts = false;   ///< the watched one is a holder's or will be, and tells its end
  /// A try that stays for a moment, instead of turn. False: the moment is over.
  std::function<void(bool)> go_on{};
  time_point stays_until{};
  time_point looked{};

  // While it is held.
  time_point since{};
  bool guarded = false;  ///< we hear when somebody removes it by hand

  bool refused = false;  ///< leaving: the server would not have it, so again later

  bool expects_news = false;  ///< no thread listens for it
};

using standing_ref = std::shared_ptr<standing>;

/// All of them, and who watches what.
class claims {
 public:
  mutable std::mutex mutex;

  // The mutex is held in all of these.
  standing_ref find(const owner_id& owner) const {
    const auto it = all_.find(owner);
    return it == all_.end() ? nullptr : it->second;
  }
  void add(const standing_ref& one) { all_.insert_or_assign(one->claim.owner, one); }
  void forget(const standing_ref& one);
  void watch(const standing_ref& one, const std::string& path);
  void unwatch(const standing_ref& one);
  /// Whoever watches that path; they do so no longer, for a watch fires once.
  std::vector<standing_ref> take_watchers(const std::string& path);
  void guard(const standing_ref& one, const std::string& path) { guarded_[path] = one; }
  /// All watches are set again in one message after a reconnect, and a message has its limit.
  bool room_for_guards() const noexcept { return guarded_.size() < guards_most; }
  void unguard(const std::string& path) { guarded_.erase(path); }
  standing_ref guarded(const std::string& path) const {
    const auto it = guarded_.find(path);
    return it == guarded_.end() ? nullptr : it->second;
  }
  /// The holder hears when the line behind it changes; told once.
  void listen(const standing_ref& holder) { listening_[holder->parent] = holder; }
  standing_ref take_listener(const std::string& parent);
  std::vector<standing_ref> all() const;

 private:
  static constexpr std::size_t guards_most = 1024;
  struct hash {
    std::size_t operator()(const owner_id& owner) const noexcept {
      std::size_t bits = 0;
      std::memcpy(&bits, owner.bytes().data(), sizeof bits);  // random already
      return bits;
    }
  };
  std::unordered_map<owner_id, standing_ref, hash> all_;
  std::unordered_multimap<std::string, standing_ref> watching_;
  std::unordered_map<std::string, standing_ref> guarded_;
  std::unordered_map<std::string, standing_ref> listening_;
};

/// How long a try for permits stays behind one that there would be enough for as well, and that
/// does not move.
inline constexpr duration a_moment = std::chrono::seconds{1};

/// What everybody needs who works on a claim. Outlived by nobody but the connection.
struct desk {
  connection& wire;
  claims& table;
  seam::clock& clock;
  naming how = naming::curator;
  bool single = false;
  std::string who;

  /// The grant that this claim is now; empty when its session is not the present one.
  std::optional<seam::grant> grant_of(const standing& held) const;
  /// What its node says.
  std::string inscription_of(const standing& one) const;
};

/// Removes what the claim has on the server, now or as soon as there is a connection, and forgets
/// it then; `then` hears how the first try went.
void leave(desk& at, const standing_ref& one, hearer then);

}  // namespace crosslock::zookeeper
