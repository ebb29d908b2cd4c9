// A fault is noted at the moment it takes effect: a loss when the message is sent, a late or second
// copy when it arrives.
#include "simulation/storm.hpp"

#include <algorithm>
#include <string>

namespace crosslock::simulation {

storm::storm(stage& stage) : stage_{stage} {
  stage.network->set_script(
      [this](const sighting& message) { return std::optional<fate>{decide(message)}; });
}

storm::fate storm::decide(const sighting& message) {
  const scenario& play = stage_.play;
  world::random_stream& rng = stage_.rng();
  const auto usual = [&] { return rng.uniform(play.delay_min, play.delay_max); };
  const auto hit = [&](unsigned permille) { return !over_ && rng.below(1000) < permille; };
  const bool outward = message.going == way::to_server;

  if (hit(outward ? play.storm.drop_requests : play.storm.drop_replies)) {
    stage_.seen.add(count::dropped);
    blame(stage_.now(), message, "dropped");
    return {};
  }
  fate copies{usual()};
  if (hit(play.storm.late)) {
    copies.front() += rng.uniform(duration::zero(), play.late_max);
    stage_.seen.add(count::delayed);
    blame(stage_.now() + copies.front(), message, "late");
  }
  note(message, copies.front());
  if (hit(play.storm.twice)) {
    copies.push_back(usual() + (rng.chance(0.3) ? rng.uniform(duration::zero(), play.late_max)
                                                : duration::zero()));
    stage_.seen.add(count::duplicated);
    blame(stage_.now() + copies.back(), message, "second copy");
  }
  return copies;
}

void storm::note(const sighting& message, duration delay) {
  const time_point arrival = stage_.now() + delay;
  time_point& latest = latest_[{message.client, message.going}];
  if (arrival < latest) stage_.seen.add(count::overtaken);
  latest = std::max(latest, arrival);
  stage_.world.trace(message.going == way::to_server ? "-> " : "<- ", message.client, ' ',
                     message.what ? to_string(*message.what) : to_string(*message.news), " in ",
                     delay.count() / 1000, " us");
}

void storm::blame(time_point moment, const sighting& message, const char* what) {
  const std::string text =
      std::string{what} + ": " +
      std::string{message.what ? to_string(*message.what) : to_string(*message.news)} +
      (message.going == way::to_server ? " to the server" : " to the client");
  const auto owner = owners_.find(message.client);
  const std::int32_t proc = owner == owners_.end() ? checker::event::nobody : owner->second;
  if (moment <= stage_.now()) {
    stage_.nemesis(checker::fault::other, proc, {}, text);
  } else {
    stage_.world.at(moment, [&stage = stage_, proc, text] {
      stage.nemesis(checker::fault::other, proc, {}, text);
    });
  }
}

}  // namespace crosslock::simulation
