// A network with faults: every message takes its time, and may be lost, repeated or overtaken. For
// the simulation and for tests.
#pragma once

#include "engine/guarded.hpp"
#include "engines/memory/connection.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace crosslock::memory {

/// Who runs things later, and draws lots. Outlives everything it was asked to run. at() must not
/// run the function itself, and holds no mutex of its own while it runs one.
class scheduler {
 public:
  virtual ~scheduler() = default;
  virtual time_point now() const = 0;
  virtual void at(time_point moment, std::function<void()> run) = 0;
  virtual std::uint64_t random() = 0;
};

/// Thread-safe; must be owned by a shared_ptr. Every verb of fault injection may be called at any
/// time, also from within an event or a script.
class faulty_network final : public network, public std::enable_shared_from_this<faulty_network> {
 public:
  /// What may happen to any message. Different delays are what makes one overtake another.
  struct weather {
    duration delay_min{};
    duration delay_max{};
    unsigned drop_permille = 0;
    unsigned duplicate_permille = 0;
  };

  enum class way { to_server, to_client, both };

  /// A message as a script sees it.
  struct sighting {
    way going;  ///< never both
    client_id client;
    std::optional<verb> what;        ///< of a request, or of the request a reply belongs to
    std::optional<push::kind> news;  ///< of a push
  };
  /// What a script decides instead of the weather: one delay for each copy; none: lost.
  using fate = std::vector<duration>;
  using script = std::function<std::optional<fate>(const sighting&)>;

  /// What a crashed server comes back with.
  enum class memory_after { kept, empty, snapshot };

  explicit faulty_network(memory::scheduler& scheduler, server_limits limits = {});

  client_id attach(std::shared_ptr<receiver> client) override;
  void detach(client_id client) noexcept override;
  reply call(client_id from, const request& message, time_point give_up,
             seam::clock& clock) override;
  void send(client_id from, request message, time_point give_up, on_outcome done) override;

  void set_weather(const weather& now_on);
  /// Asked about every message; empty: the weather decides. An empty function ends it.
  void set_script(script now_on);
  /// Wake-ups are lost although the server believes they were heard.
  void drop_pushes(bool drop);

  /// Silence: what is sent or arrives that way is lost, and nobody is told.
  void cut(client_id client, way direction = way::both);
  /// A cut both sides know of: requests fail at once, pushes are not heard by anybody.
  void refuse(client_id client);
  /// Ends cut and refuse.
  void heal(client_id client);

  /// A stopped process: what comes for it waits for it, in order.
  void pause_client(client_id client);
  void resume_client(client_id client);
  /// A dead process: nothing reaches it any more, and what it asks fails at once; what it has
  /// sent before may still arrive.
  void kill_client(client_id client);

  /// Requests wait, in order.
  void pause_server();
  void resume_server();
  /// Until restart_server() every request fails at once; those on their way, and pushes, are lost.
  void crash_server();
  void restart_server(memory_after state);
  void take_snapshot();
  void step_server_clock(duration by);

  /// How many requests of this kind the server has carried out, repeated ones included.
  std::uint64_t applied(verb what) const;
  /// A copy of the server as it is now, for a closer look, and its present time.
  server server_copy() const;
  server_time server_now() const;

 private:
  struct exchange;
  using exchange_ref = std::shared_ptr<exchange>;
  using work = std::function<void()>;

  struct peer {
    std::shared_ptr<receiver> client;
    bool cut_to_server = false;
    bool cut_to_client = false;
    bool refused = false;
    bool paused = false;
    bool dead = false;
    std::deque<work> held;  ///< deliveries that wait for the end of the pause
  };

  /// Sends one request. Without `done` nobody waits for the reply.
  exchange_ref post(client_id from, request message, on_outcome done);
  void arrive_at_server(client_id from, const request& message, const exchange_ref& whose);
  void carry_out(client_id from, const request& message, const exchange_ref& whose);
  void send_pushes(const std::vector<push>& pushes);
  void hear(const push& news);
  void finish(const exchange_ref& whose, outcome result);
  /// Everything open, or everything one client has open.
  void finish_all(std::optional<client_id> whose, const error& why);
  void deliver(client_id to, work what);
  void connect_later(client_id client);

  void transmit(const sighting& message, const std::function<void(faulty_network&)>& arrive);
  fate draw_fate(const weather& sky);

  peer* find(client_id client) CROSSLOCK_REQUIRES(mutex_);
  server_time time_of_server() const CROSSLOCK_REQUIRES(mutex_);

  scheduler& scheduler_;

  mutable seam::mutex mutex_;
  server server_ CROSSLOCK_GUARDED_BY(mutex_);
  server::state snapshot_ CROSSLOCK_GUARDED_BY(mutex_);
  duration clock_step_ CROSSLOCK_GUARDED_BY(mutex_){};
  bool down_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  bool server_paused_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  bool drop_pushes_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  /// Counts crashes: what was sent before one is lost in it.
  std::uint64_t life_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  std::deque<work> held_requests_ CROSSLOCK_GUARDED_BY(mutex_);
  weather weather_ CROSSLOCK_GUARDED_BY(mutex_);
  script script_ CROSSLOCK_GUARDED_BY(mutex_);
  std::map<client_id, peer> peers_ CROSSLOCK_GUARDED_BY(mutex_);
  /// By number: in the order of their beginning.
  std::map<std::uint64_t, exchange_ref> open_ CROSSLOCK_GUARDED_BY(mutex_);
  std::uint64_t last_exchange_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
  client_id last_client_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace crosslock::memory
