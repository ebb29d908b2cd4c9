// Pushes reach a client on the thread of whoever caused them. close() must not return while one
// is under way, and must not wait for the one it was called from: so each delivery notes its
// thread, and close() waits, by parking, for those of other threads.
#include "engines/memory/connection.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace crosslock::memory {

direct_network::direct_network(seam::clock& clock, server_limits limits)
    : clock_{clock}, server_{limits} {}

client_id direct_network::attach(std::shared_ptr<receiver> client) {
  const seam::lock_guard guard{mutex_};
  const client_id id = ++last_client_;
  clients_.emplace(id, std::move(client));
  server_.connect(id);
  return id;
}

void direct_network::detach(client_id client) noexcept {
  std::shared_ptr<receiver> last_owner;  // destroyed after the mutex is free
  const seam::lock_guard guard{mutex_};
  server_.disconnect(client);
  if (const auto it = clients_.find(client); it != clients_.end()) {
    last_owner = std::move(it->second);
    clients_.erase(it);
  }
}

reply direct_network::call(client_id from, const request& message, time_point, seam::clock&) {
  return carry(from, message);
}

void direct_network::send(client_id from, request message, time_point, on_outcome done) {
  done(carry(from, message));
}

server::outcome direct_network::apply(client_id from, const request& message) {
  const seam::lock_guard guard{mutex_};
  return server_.apply(from, message, clock_.now().time_since_epoch());
}

reply direct_network::carry(client_id from, const request& message) {
  // Made in place: moving the answers of all verbs costs as much as some of them.
  server::outcome result = apply(from, message);
  if (!result.pushes.empty()) deliver(std::move(result.pushes));
  return std::move(result.answer);
}

/// What receivers answer may cause more pushes: a queue, because a recursion could go as deep as
/// the line is long.
void direct_network::deliver(std::vector<push> pushes) {
  std::deque<push> waiting{std::make_move_iterator(pushes.begin()),
                           std::make_move_iterator(pushes.end())};
  for (; !waiting.empty(); waiting.pop_front()) {
    const push& news = waiting.front();
    const auto client = find(news.to);
    if (!client) continue;
    const auto answer = client->pushed(news);
    if (!answer) continue;
    auto more = apply(news.to, *answer);
    std::move(more.pushes.begin(), more.pushes.end(), std::back_inserter(waiting));
  }
}

std::shared_ptr<receiver> direct_network::find(client_id client) const {
  const seam::lock_guard guard{mutex_};
  const auto it = clients_.find(client);
  return it == clients_.end() ? nullptr : it->second;
}

std::uint64_t direct_network::applied(verb what) const {
  const seam::lock_guard guard{mutex_};
  return server_.applied(what);
}

std::shared_ptr<network> shared_network(std::string_view path, seam::clock& clock) {
  // Of the process: a forked child must not touch a server that its parent may have locked.
  using key = std::tuple<pid_t, std::string, seam::clock*>;
  struct table {
    seam::mutex mutex;
    std::map<key, std::shared_ptr<network>> servers CROSSLOCK_GUARDED_BY(mutex);
  };
  // Never destroyed: clients may close in destructors of static objects.
  static table& all = *new table;
  const seam::lock_guard guard{all.mutex};
  auto& found = all.servers[key{getpid(), std::string{path}, &clock}];
  if (!found) found = std::make_shared<direct_network>(clock);
  return found;
}

connection::connection(std::shared_ptr<network> network, seam::clock& clock, on_push handler)
    : network_{std::move(network)}, clock_{clock}, handler_{std::move(handler)} {}

std::shared_ptr<connection> connection::open(std::shared_ptr<network> network, seam::clock& clock,
                                             on_push handler) {
  std::shared_ptr<connection> fresh{new connection{std::move(network), clock, std::move(handler)}};
  fresh->id_ = fresh->network_->attach(fresh);
  return fresh;
}

reply connection::call(const request& message, time_point give_up) {
  {
    const seam::lock_guard guard{mutex_};
    if (closed_) throw make_error(errc::closed, "the client was closed");
  }
  reply answer = network_->call(id_, message, give_up, clock_);
  if (const auto* no = std::get_if<refusal>(&answer)) throw make_error(no->code, no->text);
  return answer;
}

void connection::send(request message, time_point give_up, on_outcome done) {
  {
    const seam::lock_guard guard{mutex_};
    if (closed_) throw make_error(errc::closed, "the client was closed");
  }
  network_->send(id_, std::move(message), give_up,
                 [self = shared_from_this(), done = std::move(done)](outcome result) {
                   if (!self->begin_delivery()) return;
                   const auto* answer = std::get_if<reply>(&result);
                   const auto* no = answer ? std::get_if<refusal>(answer) : nullptr;
                   done(no ? outcome{make_error(no->code, no->text)} : std::move(result));
                   self->end_delivery();
                 });
}

std::optional<request> connection::pushed(const push& news) {
  if (!begin_delivery()) return std::nullopt;
  auto answer = handler_(news);
  end_delivery();
  return answer;
}

bool connection::begin_delivery() {
  const seam::lock_guard guard{mutex_};
  if (closed_) return false;
  delivering_.push_back(std::this_thread::get_id());
  return true;
}

void connection::end_delivery() {
  const seam::lock_guard guard{mutex_};
  const auto mine = std::find(delivering_.begin(), delivering_.end(), std::this_thread::get_id());
  delivering_.erase(mine);
  if (!closed_) return;
  delivered_.fetch_add(1);
  clock_.unpark(delivered_);
}

void connection::close() noexcept {
  {
    const seam::lock_guard guard{mutex_};
    if (std::exchange(closed_, true)) return;
  }
  network_->detach(id_);
  seam::park_unless(clock_, delivered_, [this]() -> std::optional<time_point> {
    const seam::lock_guard guard{mutex_};
    const bool others = std::any_of(delivering_.begin(), delivering_.end(), [](auto thread) {
      return thread != std::this_thread::get_id();
    });
    return others ? std::optional{time_point::max()} : std::nullopt;
  });
}

}  // namespace crosslock::memory
