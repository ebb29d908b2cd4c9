// What is measured: crosslock itself, the floor of an engine, and its peers.
#pragma once

#include "benchmarks/measured.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::bench {

/// One participant's end of one lock. Used by one thread.
class party {
 public:
  virtual ~party() = default;
  /// Waits for the lock. Returns its fence; zero where there is none.
  virtual std::int64_t lock() = 0;
  virtual void unlock() = 0;
  /// Asks without waiting; `in` is called, on whatever thread, when it has the lock. False where
  /// there is only lock().
  virtual bool lock_async(std::function<void()> /*in*/) { return false; }
};

using parties = std::vector<std::unique_ptr<party>>;

/// Who meets whom.
struct setting {
  enum class kind {
    own_names,  ///< threads of one process, each with a name of its own
    permits,    ///< the same, and each name is a semaphore of which one permit is taken
    readers,    ///< threads of one process that share one name, or each its own round trips
    threads,    ///< threads of one process, all on one name
    clients,    ///< threads, all on one name, each with a connection of its own
    processes,  ///< all on one name, each in a process of its own
  };

  kind who = kind::own_names;
  std::size_t count = 1;
  std::string name;  ///< never used before

  /// Nobody waits for anybody else.
  bool apart() const {
    return who == kind::own_names || who == kind::permits || who == kind::readers;
  }
};

/// A lock that this thread holds and can take again.
class reentrant {
 public:
  virtual ~reentrant() = default;
  /// Locks and unlocks so many times: one call, so that its own cost does not count.
  virtual void again(std::uint64_t times) = 0;
};

/// Locks that are held, and renewed in the background, until it is destroyed.
class held_locks {
 public:
  virtual ~held_locks() = default;
  /// How many renewals there have been.
  virtual std::uint64_t renewals() const = 0;
};

using request_count = std::function<std::uint64_t()>;

class subject {
 public:
  virtual ~subject() = default;
  virtual std::string_view name() const = 0;
  /// What another process needs to take part; empty where none can.
  virtual std::string address() const { return {}; }
  /// Peers in other languages play the whole setting in processes of their own; `requests` says how
  /// many the server has had so far. Empty: it is assembled from parties of this program.
  virtual std::optional<measured> play(const setting&, seconds /*span*/,
                                       const request_count& /*requests*/) {
    return std::nullopt;
  }
  virtual parties assemble(const setting& setting) = 0;
  virtual std::unique_ptr<reentrant> enter(const std::string& name) = 0;
  virtual std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                                std::chrono::milliseconds lease) = 0;
};

}  // namespace crosslock::bench
