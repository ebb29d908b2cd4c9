// The verbs of fault injection. They change what the network believes; messages meet it on their
// way (network.cpp).
#include "engines/memory/network.hpp"

#include <utility>

namespace crosslock::memory {

void faulty_network::set_weather(const weather& now_on) {
  const seam::lock_guard guard{mutex_};
  weather_ = now_on;
}

void faulty_network::set_script(script now_on) {
  const seam::lock_guard guard{mutex_};
  script_ = std::move(now_on);
}

void faulty_network::drop_pushes(bool drop) {
  const seam::lock_guard guard{mutex_};
  drop_pushes_ = drop;
}

void faulty_network::cut(client_id client, way direction) {
  const seam::lock_guard guard{mutex_};
  peer* one = find(client);
  if (one == nullptr) return;
  if (direction != way::to_client) one->cut_to_server = true;
  if (direction != way::to_server) one->cut_to_client = true;
}

void faulty_network::refuse(client_id client) {
  {
    const seam::lock_guard guard{mutex_};
    if (peer* one = find(client)) one->refused = true;
    server_.disconnect(client);
  }
  finish_all(client, make_error(errc::unreachable, "the connection was lost", true));
}

void faulty_network::heal(client_id client) {
  bool reconnects = false;
  {
    const seam::lock_guard guard{mutex_};
    peer* one = find(client);
    if (one == nullptr) return;
    reconnects = std::exchange(one->refused, false);
    one->cut_to_server = false;
    one->cut_to_client = false;
  }
  if (reconnects) connect_later(client);
}

void faulty_network::pause_client(client_id client) {
  const seam::lock_guard guard{mutex_};
  if (peer* one = find(client)) one->paused = true;
}

void faulty_network::resume_client(client_id client) {
  std::deque<work> due;
  {
    const seam::lock_guard guard{mutex_};
    peer* one = find(client);
    if (one == nullptr) return;
    one->paused = false;
    due = std::exchange(one->held, {});
  }
  // Each goes through deliver() again: one of them may pause the client anew.
  for (work& what : due) deliver(client, std::move(what));
}

void faulty_network::kill_client(client_id client) {
  std::deque<work> dropped;
  {
    const seam::lock_guard guard{mutex_};
    peer* one = find(client);
    if (one == nullptr) return;
    one->dead = true;
    dropped = std::exchange(one->held, {});
    server_.disconnect(client);
  }
  finish_all(client, make_error(errc::unreachable, "the process is dead", true));
}

void faulty_network::pause_server() {
  const seam::lock_guard guard{mutex_};
  server_paused_ = true;
}

void faulty_network::resume_server() {
  std::deque<work> due;
  {
    const seam::lock_guard guard{mutex_};
    server_paused_ = false;
    due = std::exchange(held_requests_, {});
  }
  for (const work& what : due) what();
}

void faulty_network::crash_server() {
  {
    const seam::lock_guard guard{mutex_};
    down_ = true;
    ++life_;
    server_paused_ = false;
    held_requests_.clear();
    for (const auto& [client, one] : peers_) server_.disconnect(client);
  }
  finish_all(std::nullopt, make_error(errc::unreachable, "the connection was lost", true));
}

void faulty_network::restart_server(memory_after state) {
  std::vector<client_id> back;
  {
    const seam::lock_guard guard{mutex_};
    down_ = false;
    if (state == memory_after::empty) server_.restore({});
    if (state == memory_after::snapshot) server_.restore(snapshot_);
    for (const auto& [client, one] : peers_) back.push_back(client);
  }
  for (const client_id client : back) connect_later(client);
}

void faulty_network::take_snapshot() {
  const seam::lock_guard guard{mutex_};
  snapshot_ = server_.snapshot();
}

void faulty_network::step_server_clock(duration by) {
  const seam::lock_guard guard{mutex_};
  clock_step_ += by;
}

std::uint64_t faulty_network::applied(verb what) const {
  const seam::lock_guard guard{mutex_};
  return server_.applied(what);
}

server faulty_network::server_copy() const {
  const seam::lock_guard guard{mutex_};
  return server_;
}

server_time faulty_network::server_now() const {
  const seam::lock_guard guard{mutex_};
  return time_of_server();
}

}  // namespace crosslock::memory
