// Messages are events of the scheduler. Each function locks for itself and never while it calls
// out, so that whatever a delivery sets off may come straight back here. Events hold the network
// weakly: what arrives after its end is lost.
#include "engines/memory/network.hpp"

#include <utility>

namespace crosslock::memory {

/// One request and whoever waits for its reply. Finished once; what comes later is ignored.
struct faulty_network::exchange {
  std::uint64_t number = 0;
  client_id from = 0;
  verb what = verb::ask;
  bool awaits_reply = false;
  on_outcome done;  ///< guarded by the network's mutex; empty once finished
};

faulty_network::faulty_network(memory::scheduler& scheduler, server_limits limits)
    : scheduler_{scheduler}, server_{limits} {}

client_id faulty_network::attach(std::shared_ptr<receiver> client) {
  const seam::lock_guard guard{mutex_};
  const client_id id = ++last_client_;
  peers_[id].client = std::move(client);
  if (!down_) server_.connect(id);
  return id;
}

void faulty_network::detach(client_id client) noexcept {
  peer gone;  // destroyed after the mutex is free
  {
    const seam::lock_guard guard{mutex_};
    server_.disconnect(client);
    if (peer* one = find(client)) gone = std::move(*one);
    peers_.erase(client);
  }
  finish_all(client, make_error(errc::closed, "the client was closed", true));
}

reply faulty_network::call(client_id from, const request& message, time_point give_up,
                           seam::clock& clock) {
  struct slot {
    seam::park_word answered{0};
    std::optional<outcome> result;
  };
  const auto mine = std::make_shared<slot>();
  const auto sent = post(from, message, [mine, &clock](outcome result) {
    mine->result = std::move(result);
    mine->answered.store(1);
    clock.unpark(mine->answered);
  });
  while (mine->answered.load() == 0 && clock.now() < give_up) {
    clock.park(mine->answered, 0, give_up);
  }
  const error late = make_error(errc::timed_out, "the server did not answer in time", true);
  if (mine->answered.load() == 0) finish(sent, late);
  if (mine->answered.load() == 0) throw late;  // another thread is just about to tell
  if (const auto* why = std::get_if<error>(&*mine->result)) throw *why;
  return std::get<reply>(std::move(*mine->result));
}

void faulty_network::send(client_id from, request message, time_point give_up, on_outcome done) {
  const auto sent = post(from, std::move(message), std::move(done));
  scheduler_.at(give_up, [weak = weak_from_this(), sent] {
    const auto self = weak.lock();
    if (!self) return;
    self->deliver(sent->from, [weak, sent] {
      const auto here = weak.lock();
      if (!here) return;
      here->finish(sent, make_error(errc::timed_out, "the server did not answer in time", true));
    });
  });
}

faulty_network::exchange_ref faulty_network::post(client_id from, request message,
                                                  on_outcome done) {
  const auto fresh = std::make_shared<exchange>();
  fresh->from = from;
  fresh->what = verb_of(message);
  fresh->awaits_reply = done != nullptr;
  fresh->done = std::move(done);
  bool refused = false;
  std::uint64_t life = 0;
  {
    const seam::lock_guard guard{mutex_};
    const peer* one = find(from);
    refused = down_ || one == nullptr || one->refused || one->dead;
    life = life_;
    fresh->number = ++last_exchange_;
    if (fresh->awaits_reply) open_.emplace(fresh->number, fresh);
  }
  if (refused) {
    finish(fresh, make_error(errc::unreachable, "the server refuses the connection"));
    return fresh;
  }
  const auto shared = std::make_shared<const request>(std::move(message));
  transmit({way::to_server, from, fresh->what, std::nullopt},
           [from, shared, fresh, life](faulty_network& self) {
             {
               const seam::lock_guard guard{self.mutex_};
               if (self.life_ != life) return;
             }
             self.arrive_at_server(from, *shared, fresh);
           });
  return fresh;
}

void faulty_network::arrive_at_server(client_id from, const request& message,
                                      const exchange_ref& whose) {
  {
    const seam::lock_guard guard{mutex_};
    const peer* one = find(from);
    if (down_ || (one != nullptr && one->cut_to_server)) return;
    if (server_paused_) {
      held_requests_.push_back([this, from, message, whose] { carry_out(from, message, whose); });
      return;
    }
  }
  carry_out(from, message, whose);
}

void faulty_network::carry_out(client_id from, const request& message, const exchange_ref& whose) {
  server::outcome result;
  {
    const seam::lock_guard guard{mutex_};
    result = server_.apply(from, message, time_of_server());
  }
  if (whose->awaits_reply) {
    transmit({way::to_client, from, whose->what, std::nullopt},
             [from, whose, answer = std::move(result.answer)](faulty_network& self) {
               {
                 const seam::lock_guard guard{self.mutex_};
                 const peer* one = self.find(from);
                 if (one == nullptr || one->cut_to_client || one->refused) return;
               }
               self.deliver(from, [weak = self.weak_from_this(), whose, answer] {
                 if (const auto here = weak.lock()) here->finish(whose, answer);
               });
             });
  }
  send_pushes(result.pushes);
}

void faulty_network::send_pushes(const std::vector<push>& pushes) {
  {
    const seam::lock_guard guard{mutex_};
    if (drop_pushes_) return;
  }
  for (const push& news : pushes) {
    transmit({way::to_client, news.to, std::nullopt, news.what},
             [news](faulty_network& self) { self.hear(news); });
  }
}

void faulty_network::hear(const push& news) {
  std::shared_ptr<receiver> client;
  {
    const seam::lock_guard guard{mutex_};
    const peer* one = find(news.to);
    if (one == nullptr || one->cut_to_client || one->refused) return;
    client = one->client;
  }
  deliver(news.to, [weak = weak_from_this(), client, news] {
    auto answer = client->pushed(news);
    const auto self = weak.lock();
    if (answer && self) self->post(news.to, *std::move(answer), nullptr);
  });
}

void faulty_network::finish(const exchange_ref& whose, outcome result) {
  on_outcome done;
  {
    const seam::lock_guard guard{mutex_};
    open_.erase(whose->number);
    done = std::exchange(whose->done, nullptr);
  }
  if (done) done(std::move(result));
}

void faulty_network::finish_all(std::optional<client_id> whose, const error& why) {
  std::vector<exchange_ref> ended;
  {
    const seam::lock_guard guard{mutex_};
    for (const auto& [number, one] : open_) {
      if (whose && one->from != *whose) continue;
      peer* asker = find(one->from);
      if (asker == nullptr || !asker->paused || asker->dead) {
        ended.push_back(one);
        continue;
      }
      asker->held.push_back([weak = weak_from_this(), one = one, why] {
        if (const auto self = weak.lock()) self->finish(one, why);
      });
    }
  }
  for (const exchange_ref& one : ended) finish(one, why);
}

void faulty_network::deliver(client_id to, work what) {
  {
    const seam::lock_guard guard{mutex_};
    peer* one = find(to);
    if (one == nullptr || one->dead) return;
    if (one->paused) {
      one->held.push_back(std::move(what));
      return;
    }
  }
  what();
}

void faulty_network::connect_later(client_id client) {
  weather sky;
  {
    const seam::lock_guard guard{mutex_};
    sky = weather_;
  }
  sky.drop_permille = 0;
  scheduler_.at(scheduler_.now() + draw_fate(sky).front(), [weak = weak_from_this(), client] {
    const auto self = weak.lock();
    if (!self) return;
    std::vector<push> missed;
    {
      const seam::lock_guard guard{self->mutex_};
      const peer* one = self->find(client);
      if (self->down_ || one == nullptr || one->refused || one->dead) return;
      missed = self->server_.connect(client);
    }
    self->send_pushes(missed);
  });
}

void faulty_network::transmit(const sighting& message,
                              const std::function<void(faulty_network&)>& arrive) {
  weather sky;
  script ask;
  {
    const seam::lock_guard guard{mutex_};
    const peer* one = find(message.client);
    const bool outward = message.going == way::to_server;
    if (one != nullptr && (outward ? one->cut_to_server : one->cut_to_client)) return;
    sky = weather_;
    ask = script_;
  }
  std::optional<fate> decided;
  if (ask) decided = ask(message);
  if (!decided) decided = draw_fate(sky);
  for (const duration delay : *decided) {
    scheduler_.at(scheduler_.now() + delay, [weak = weak_from_this(), arrive] {
      if (const auto self = weak.lock()) arrive(*self);
    });
  }
}

faulty_network::fate faulty_network::draw_fate(const weather& sky) {
  const auto chance = [this](unsigned permille) {
    return permille != 0 && scheduler_.random() % 1000 < permille;
  };
  const auto delay = [&] {
    const auto range = static_cast<std::uint64_t>((sky.delay_max - sky.delay_min).count());
    if (range == 0) return sky.delay_min;
    return sky.delay_min + duration{static_cast<duration::rep>(scheduler_.random() % (range + 1))};
  };
  if (chance(sky.drop_permille)) return {};
  fate copies{delay()};
  if (chance(sky.duplicate_permille)) copies.push_back(delay());
  return copies;
}

faulty_network::peer* faulty_network::find(client_id client) {
  const auto it = peers_.find(client);
  return it == peers_.end() ? nullptr : &it->second;
}

server_time faulty_network::time_of_server() const {
  return scheduler_.now().time_since_epoch() + clock_step_;
}

}  // namespace crosslock::memory
