// Three ZooKeeper servers that belong together, with a fault proxy between them.
//
//   zookeeper_ensemble three;
//   const std::size_t leader = three.leader();
//   three.cut_off(leader);           // from the other two; its clients still reach it
//   three.heal(leader);
//   three[leader].kill();
#pragma once

#include "proxy/fault_proxy.hpp"
#include "servers/zookeeper_server.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace crosslock::servers {

/// All three serve when the constructor returns. One thread at a time.
class zookeeper_ensemble {
 public:
  static constexpr std::size_t size = 3;

  explicit zookeeper_ensemble(const zookeeper_options& each = {});
  zookeeper_ensemble(const zookeeper_ensemble&) = delete;
  zookeeper_ensemble& operator=(const zookeeper_ensemble&) = delete;

  zookeeper_server& operator[](std::size_t which) { return *servers_.at(which); }
  /// Waits until there is one whom two follow or serve with; throws when that takes too long.
  std::size_t leader();
  /// The two others, whatever they do.
  std::vector<std::size_t> others(std::size_t than) const;
  /// Whom the others take for their leader now, if anybody.
  std::optional<std::size_t> find_leader() const;

  /// Between that one and its peers nothing passes any more, and no connection breaks.
  void cut_off(std::size_t which) { set_wires_of(which, false); }
  void heal(std::size_t which) { set_wires_of(which, true); }

  /// After any harm: all run, nothing is cut, and all three serve.
  void mend();

 private:
  struct ports {
    std::uint16_t quorum;
    std::uint16_t election;
  };

  bool all_serve() const;
  void set_wires_of(std::size_t which, bool whole);
  zookeeper_options options_of(std::size_t which, zookeeper_options common);

  std::array<ports, size> ports_{};
  proxy::fault_proxy wires_{proxy::raw_framing};
  /// By who calls, then by who is called.
  std::array<std::array<std::vector<proxy::door*>, size>, size> doors_;
  std::array<std::unique_ptr<zookeeper_server>, size> servers_;
};

}  // namespace crosslock::servers
