// One thread waits for all sockets and for the next moment at which something is due. Whoever
// changes a rule rings its bell.
#include "proxy/fault_proxy.hpp"

#include "engine/clock.hpp"
#include "proxy/link.hpp"

#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace crosslock::proxy {
namespace {

using namespace std::chrono_literals;

constexpr duration patience = 20s;

time_point now() { return seam::real_clock().now(); }

int milliseconds_until(time_point next) {
  if (next == time_point::max()) return -1;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next - now());
  return static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 60'000));
}

}  // namespace

door::door(fault_proxy& home, address server)
    : home_{home},
      server_{std::move(server)},
      listener_{make_listener()},
      port_{port_of(listener_)} {}

door::rule_id door::add(rule next) {
  const std::lock_guard guard{home_.mutex_};
  rules_.emplace(++last_rule_, placed{std::move(next)});
  return last_rule_;
}

void door::remove(rule_id which) {
  const std::lock_guard guard{home_.mutex_};
  rules_.erase(which);
}

void door::remove_all() {
  const std::lock_guard guard{home_.mutex_};
  rules_.clear();
}

void door::obey(script next) {
  const std::lock_guard guard{home_.mutex_};
  script_ = std::move(next);
}

std::uint64_t door::applied(rule_id which) const {
  const std::lock_guard guard{home_.mutex_};
  const auto found = rules_.find(which);
  return found == rules_.end() ? 0 : found->second.applied;
}

bool door::await(rule_id which, std::uint64_t times) const {
  std::unique_lock guard{home_.mutex_};
  return home_.changed_.wait_for(guard, patience, [&] {
    const auto found = rules_.find(which);
    return found != rules_.end() && found->second.applied >= times;
  });
}

fate door::judge(const sighting& seen) {
  for (auto& [id, each] : rules_) {
    const rule& what = each.what;
    if (what.going != seen.going || each.applied >= what.times) continue;
    if (what.matches && !what.matches(seen)) continue;
    if (each.seen++ < what.skip) continue;
    ++each.applied;
    home_.changed_.notify_all();
    return what.what;
  }
  if (script_) return script_(seen).value_or(fate::pass());
  return fate::pass();
}

void door::release() {
  const std::lock_guard guard{home_.mutex_};
  for (const auto& each : links_) each->release();
  home_.ring();
}

void door::cut() {
  const std::lock_guard guard{home_.mutex_};
  cut_ = true;
  home_.ring();
}

void door::heal() {
  const std::lock_guard guard{home_.mutex_};
  cut_ = false;
  home_.ring();
}

void door::reset(const std::function<bool(const connection_seen&)>& whom) {
  const std::lock_guard guard{home_.mutex_};
  for (const auto& each : links_) {
    if (!whom || whom({each->number(), each->subscription()})) each->reset();
  }
  home_.ring();
}

void door::refuse_new(bool refuse) {
  const std::lock_guard guard{home_.mutex_};
  if (std::exchange(refuses_, refuse) == refuse) return;
  if (refuse) {
    stop_listening(listener_);
  } else {
    go_on_listening(listener_);
  }
  home_.ring();
}

void door::lead_to(address server) {
  const std::lock_guard guard{home_.mutex_};
  server_ = std::move(server);
}

std::vector<connection_seen> door::connections() const {
  const std::lock_guard guard{home_.mutex_};
  std::vector<connection_seen> all;
  for (const auto& each : links_) {
    if (!each->finished()) all.push_back({each->number(), each->subscription()});
  }
  return all;
}

int door::connections_made() const {
  const std::lock_guard guard{home_.mutex_};
  return links_made_;
}

void door::let_in() {
  for (descriptor client = accept_from(listener_); client.is_open();
       client = accept_from(listener_)) {
    descriptor server = connect_to(server_);
    if (!server.is_open()) {
      client.reset();
      continue;
    }
    links_.push_back(std::make_unique<link>(++links_made_, std::move(client), std::move(server),
                                            home_.how_,
                                            [this](const sighting& seen) { return judge(seen); }));
  }
}

time_point door::send_due(time_point moment) {
  time_point next = time_point::max();
  for (const auto& each : links_) {
    if (!cut_ && !each->finished()) next = std::min(next, each->send_due(moment));
  }
  std::erase_if(links_, [](const auto& each) { return each->finished(); });
  return next;
}

fault_proxy::fault_proxy(framing how)
    : how_{std::move(how)}, bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, thread_{[this] {
        run();
      }} {}

fault_proxy::~fault_proxy() {
  over_ = true;
  ring();
  thread_.join();
}

door& fault_proxy::open(address server) {
  const std::lock_guard guard{mutex_};
  doors_.push_back(std::unique_ptr<door>{new door{*this, std::move(server)}});
  ring();
  return *doors_.back();
}

void fault_proxy::ring() const {
  const std::uint64_t once = 1;
  [[maybe_unused]] const ssize_t rung = ::write(bell_.number(), &once, sizeof once);
}

void fault_proxy::run() {
  time_point next = time_point::max();
  while (!over_) {
    watch_list& list = watched_;
    what_to_watch(list);
    ::poll(list.sockets.data(), list.sockets.size(), milliseconds_until(next));
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t quiet = ::read(bell_.number(), &rung, sizeof rung);
    const std::lock_guard guard{mutex_};
    const time_point moment = now();
    take_in_news(list, moment);
    next = time_point::max();
    for (const auto& each : doors_) next = std::min(next, each->send_due(moment));
  }
}

void fault_proxy::what_to_watch(watch_list& list) const {
  list.sockets.clear();
  list.sources.clear();
  const auto add = [&](int socket, bool more, bool room, link* whose, way going) {
    const auto wanted = static_cast<short>((more ? POLLIN : 0) | (room ? POLLOUT : 0));
    // One that nothing is wanted from would be reported for being gone, again and again.
    if (wanted == 0) return;
    list.sockets.push_back({socket, wanted, 0});
    list.sources.push_back({whose, going});
  };
  add(bell_.number(), true, false, nullptr, {});
  const std::lock_guard guard{mutex_};
  for (const auto& each : doors_) {
    add(each->listener_.number(), each->lets_in(), false, nullptr, {});
    for (const auto& one : each->links_) {
      if (one->finished()) continue;
      add(one->client(), one->wants_from(way::to_server), one->wants_room(way::to_client),
          one.get(), way::to_server);
      add(one->server(), one->wants_from(way::to_client), one->wants_room(way::to_server),
          one.get(), way::to_client);
    }
  }
}

/// Only this thread removes links, so those of the list are still there.
void fault_proxy::take_in_news(const watch_list& list, time_point moment) {
  for (std::size_t i = 0; i < list.sockets.size(); ++i) {
    const auto& [whose, going] = list.sources[i];
    const bool news = (list.sockets[i].revents & ~POLLOUT) != 0;
    if (whose != nullptr && news && !whose->finished()) whose->receive(going, moment);
  }
  for (const auto& each : doors_) {
    if (each->lets_in()) each->let_in();
  }
}

std::function<bool(const sighting&)> is_request(std::string word) {
  return [word = std::move(word)](const sighting& seen) {
    return seen.going == way::to_server && !seen.words.empty() &&
           ::strcasecmp(seen.words[0].c_str(), word.c_str()) == 0;
  };
}

std::function<bool(const sighting&)> is_answer_to(std::string word) {
  return [word = std::move(word)](const sighting& seen) {
    return seen.going == way::to_client && !seen.push && !seen.words.empty() &&
           ::strcasecmp(seen.words[0].c_str(), word.c_str()) == 0;
  };
}

std::function<bool(const sighting&)> is_push() {
  return [](const sighting& seen) { return seen.push; };
}

}  // namespace crosslock::proxy
