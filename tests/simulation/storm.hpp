// The weather: what becomes of each message, and a note of everything that is not as it should be.
#pragma once

#include "simulation/stage.hpp"

#include <map>
#include <utility>

namespace crosslock::simulation {

/// Decides for the network of a stage for as long as both live.
class storm {
 public:
  explicit storm(stage& stage);
  /// From now on no message is lost, repeated or late any more.
  void end() noexcept { over_ = true; }
  /// Whose client this is, for the notes.
  void belongs(memory::client_id client, std::int32_t proc) { owners_[client] = proc; }

 private:
  using way = memory::faulty_network::way;
  using sighting = memory::faulty_network::sighting;
  using fate = memory::faulty_network::fate;

  fate decide(const sighting& message);
  void note(const sighting& message, duration delay);
  void blame(time_point moment, const sighting& message, const char* what);

  stage& stage_;
  bool over_ = false;
  std::map<memory::client_id, std::int32_t> owners_;
  std::map<std::pair<memory::client_id, way>, time_point> latest_;  ///< arrival so far
};

}  // namespace crosslock::simulation
