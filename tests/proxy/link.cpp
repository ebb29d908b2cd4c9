// Whole messages go from one queue to the other side's socket.
#include "proxy/link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace crosslock::proxy {

link::link(int number, descriptor client, descriptor server, const framing& how, judge what_happens)
    : number_{number},
      client_{std::move(client)},
      server_{std::move(server)},
      how_{how},
      what_happens_{std::move(what_happens)} {}

void link::receive(way going, time_point now) {
  std::array<char, 65536> bytes;
  stream& from = stream_of(going);
  while (!from.ended) {
    const ssize_t got = ::recv(source(going), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got > 0) {
      from.unread.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    // An orderly end or a reset: the other side hears of it when what was sent before has arrived.
    from.ended = true;
    take_frames(going, now);
    from.parcels.push_back({.bytes = std::exchange(from.unread, {}), .due = now});
    from.parcels.push_back({.due = now, .last = true});
    return;
  }
  take_frames(going, now);
}

void link::take_frames(way going, time_point now) {
  stream& from = stream_of(going);
  while (!finished_) {
    const auto next = how_(going, subscription_, from.unread);
    if (!next) return;
    std::string bytes = from.unread.substr(0, next->bytes);
    from.unread.erase(0, next->bytes);
    if (going == way::to_server) {
      take_request(*next, std::move(bytes), now);
    } else {
      take_answer(*next, std::move(bytes), now);
    }
  }
}

void link::take_request(const frame& what, std::string bytes, time_point now) {
  subscription_ = subscription_ || what.subscribes;
  const fate happens = what_happens_({.going = way::to_server,
                                      .link = number_,
                                      .number = ++requests_,
                                      .push = false,
                                      .subscription = subscription_,
                                      .words = what.words,
                                      .bytes = bytes});
  const bool arrives = !stream_of(way::to_server).muted && happens.is != fate::kind::drop &&
                       happens.is != fate::kind::mute;
  if (arrives) unanswered_.push_back({what.words, requests_, what.answers, false, what.label});
  if (arrives && happens.is == fate::kind::replay) {
    unanswered_.push_back({what.words, requests_, what.answers, true, what.label});
  }
  apply(happens, way::to_server, std::move(bytes), now);
}

void link::take_answer(const frame& what, std::string bytes, time_point now) {
  const auto asked = what.push
                         ? unanswered_.end()
                         : std::find_if(unanswered_.begin(), unanswered_.end(),
                                        [&](const auto& each) { return each.label == what.label; });
  const bool known = asked != unanswered_.end();
  sighting seen{.going = way::to_client,
                .link = number_,
                .number = known ? asked->number : 0,
                .push = what.push,
                .subscription = subscription_,
                .words = known ? asked->words : what.words,
                .bytes = bytes};
  if (what.push) seen.number = ++pushes_;
  const bool swallow = known && asked->swallow;
  if (!swallow) apply(what_happens_(seen), way::to_client, std::move(bytes), now);
  if (known && --asked->answers == 0) unanswered_.erase(asked);
}

void link::apply(const fate& what, way going, std::string bytes, time_point now) {
  stream& to = stream_of(going);
  to.muted = to.muted || what.is == fate::kind::mute;
  if (to.muted || what.is == fate::kind::drop) return;
  if (what.is == fate::kind::reset) return reset();
  parcel next{.bytes = std::move(bytes), .due = now};
  if (what.is == fate::kind::delay) next.due += what.by;
  if (what.is == fate::kind::trickle) next.pause = what.by;
  next.held = what.is == fate::kind::hold;
  if (what.is == fate::kind::cut_after) {
    next.bytes.resize(std::min(what.bytes, next.bytes.size()));
    next.resets = true;
  }
  if (what.is == fate::kind::replay) to.parcels.push_back(next);
  to.parcels.push_back(std::move(next));
}

time_point link::send_due(time_point now) {
  return std::min(send_stream(way::to_server, now), send_stream(way::to_client, now));
}

time_point link::send_stream(way going, time_point now) {
  stream& from = stream_of(going);
  from.full = false;
  while (!finished_ && !from.parcels.empty()) {
    parcel& next = from.parcels.front();
    if (next.held || from.full) return time_point::max();
    if (next.due > now) return next.due;
    if (next.last) {
      finished_ = true;
      client_.close();
      server_.close();
      return time_point::max();
    }
    if (!put(going, next, now)) continue;
    if (next.resets) {
      reset();
    } else {
      from.parcels.pop_front();
    }
  }
  return time_point::max();
}

/// True when all of it is gone.
bool link::put(way going, parcel& next, time_point now) {
  const bool slowly = next.pause > duration::zero();
  while (!next.bytes.empty()) {
    const std::size_t length = slowly ? 1 : next.bytes.size();
    const ssize_t sent =
        ::send(target(going), next.bytes.data(), length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      stream_of(going).full = true;
      return false;
    }
    if (sent < 0) return true;  // nobody is there any more; its own stream says so
    next.bytes.erase(0, static_cast<std::size_t>(sent));
    if (slowly && !next.bytes.empty()) {
      next.due = now + next.pause;
      return false;
    }
  }
  return true;
}

void link::release() {
  for (stream& each : streams_) {
    for (parcel& one : each.parcels) one.held = false;
  }
}

void link::reset() noexcept {
  finished_ = true;
  client_.reset();
  server_.reset();
}

}  // namespace crosslock::proxy
