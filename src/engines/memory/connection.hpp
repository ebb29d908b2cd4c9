// The link between one client and the server, and the network it runs over.
#pragma once

#include "engine/clock.hpp"
#include "engine/guarded.hpp"
#include "engines/memory/protocol.hpp"
#include "engines/memory/server.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

namespace crosslock::memory {

/// How a request ended: the server's reply, or why there is none.
using outcome = std::variant<reply, error>;
using on_outcome = std::function<void(outcome)>;

/// A client as the network sees it.
class receiver {
 public:
  virtual ~receiver() = default;
  /// News from the server. What is returned goes to the server at once; its reply is ignored.
  virtual std::optional<request> pushed(const push& news) = 0;
};

/// Carries messages between clients and one server. Thread-safe; calls receivers and outcomes with
/// no mutex held.
class network {
 public:
  virtual ~network() = default;
  /// Nothing is ever on its way: there is no answer that anybody would have to wait for.
  virtual bool is_immediate() const noexcept { return false; }
  virtual client_id attach(std::shared_ptr<receiver> client) = 0;
  /// Requests still on their way end with an error. A push that is being delivered goes on.
  virtual void detach(client_id client) noexcept = 0;

  /// Waits for the reply until `give_up`. Throws `unreachable` or `timed_out`.
  virtual reply call(client_id from, const request& message, time_point give_up,
                     seam::clock& clock) = 0;
  /// The same without waiting: `done` is called exactly once, perhaps before this returns.
  virtual void send(client_id from, request message, time_point give_up, on_outcome done) = 0;
};

/// No distance at all: a request locks the server, is carried out, and on the same thread, after
/// unlocking, its pushes are delivered. The server's time is the clock's.
class direct_network final : public network {
 public:
  explicit direct_network(seam::clock& clock, server_limits limits = {});

  bool is_immediate() const noexcept override { return true; }
  client_id attach(std::shared_ptr<receiver> client) override;
  void detach(client_id client) noexcept override;
  reply call(client_id from, const request& message, time_point give_up,
             seam::clock& clock) override;
  void send(client_id from, request message, time_point give_up, on_outcome done) override;

  /// How many requests of this kind the server has carried out.
  std::uint64_t applied(verb what) const;

 private:
  server::outcome apply(client_id from, const request& message);
  reply carry(client_id from, const request& message);
  void deliver(std::vector<push> pushes);
  std::shared_ptr<receiver> find(client_id client) const;

  seam::clock& clock_;

  mutable seam::mutex mutex_;
  server server_ CROSSLOCK_GUARDED_BY(mutex_);
  std::map<client_id, std::shared_ptr<receiver>> clients_ CROSSLOCK_GUARDED_BY(mutex_);
  client_id last_client_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
};

/// The server that `memory:PATH` means in this process; it lives as long as the process. Time is a
/// part of what it is: clients of different clocks never meet.
std::shared_ptr<network> shared_network(std::string_view path, seam::clock& clock);

/// One client's end of a network. Thread-safe.
class connection final : public receiver, public std::enable_shared_from_this<connection> {
 public:
  using on_push = std::function<std::optional<request>(const push&)>;

  static std::shared_ptr<connection> open(std::shared_ptr<network> network, seam::clock& clock,
                                          on_push handler);
  ~connection() override = default;

  /// Throws also `closed`, and what the server refuses.
  reply call(const request& message, time_point give_up);
  /// `done` is not called after close() has returned.
  void send(request message, time_point give_up, on_outcome done);
  /// When it returns nothing is being delivered on other threads, and nothing will be. May be
  /// called from within a delivery.
  void close() noexcept;

  client_id id() const noexcept { return id_; }
  std::optional<request> pushed(const push& news) override;

 private:
  connection(std::shared_ptr<network> network, seam::clock& clock, on_push handler);
  bool begin_delivery();
  void end_delivery();

  const std::shared_ptr<network> network_;
  seam::clock& clock_;
  const on_push handler_;
  client_id id_ = 0;  ///< constant once open() has returned

  seam::park_word delivered_{0};
  seam::mutex mutex_;
  bool closed_ CROSSLOCK_GUARDED_BY(mutex_) = false;
  /// One entry for each delivery in progress.
  std::vector<std::thread::id> delivering_ CROSSLOCK_GUARDED_BY(mutex_);
};

}  // namespace crosslock::memory
