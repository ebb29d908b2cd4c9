// One client among those of its process that hear through one thread.
#pragma once

#include "engine/engine.hpp"
#include "engine/visits.hpp"
#include "engine/watched_cells.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/interests.hpp"

#include <atomic>
#include <functional>
#include <utility>
#include <vector>

namespace crosslock::sqlite {

class listener;

/// A claim, and whose it is.
struct concern {
  listener* whose;
  interest what;
};

/// What the rows say about a claim.
struct event {
  enum class kind { granted, wanted, lost, look_again } is;
  concern whom;
  seam::grant grant{};
};

/// It outlives its client for as long as somebody looks at it; whoever wants to tell the client
/// something visits it. Thread-safe.
class listener final : public seam::visited {
 public:
  /// One ask whose answer goes to events.
  struct posted_ask {
    seam::claim claim;
    time_point give_up;
  };
  using on_asks = std::function<void(const std::vector<posted_ask>&)>;

  /// `events` and `answer` are used during visits only.
  listener(seam::engine_events& events, seam::clock& clock, on_asks answer)
      : seam::visited{clock}, events_{events}, clock_{clock}, answer_{std::move(answer)} {}

  interests claims;
  seam::watched_cells cells;
  std::atomic<bool> watches{false};  ///< there was a cell once: it is worth a look

  // Each in a visit.
  /// News from a client of this process, on its own thread.
  void hear_about(connection& rows, std::uint32_t name_hash);
  void report(const event& news);
  /// Whoever watches a cell reads it: what is told needs no look at the rows.
  void report_cells(const std::vector<std::uint32_t>& hashes, bool every);
  void answer(const std::vector<posted_ask>& asks) const { answer_(asks); }

  // For the threads that hear.
  /// One of them is with it: no other waits for it.
  std::atomic<bool> taken{false};
  /// Another one came by meanwhile, and had something to tell.
  std::atomic<bool> missed{false};

 private:
  seam::engine_events& events_;
  seam::clock& clock_;
  const on_asks answer_;
};

/// What the rows say about those claims: reads one state of them.
std::vector<event> look_for_news(connection& rows, seam::clock& clock,
                                 const std::vector<concern>& about);
/// Which of those that wait should look again, because somebody before them has died; notes how
/// near each is to its turn. Those of one name stand together.
std::vector<event> look_for_deaths(connection& rows, seam::clock& clock,
                                   const std::vector<concern>& waiting);

}  // namespace crosslock::sqlite
