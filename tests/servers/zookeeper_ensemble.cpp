// Each server knows the true ports of the others, because it hears of them from the others, too; a
// preloaded library leads what it sends there to the doors of the proxy.
#include "servers/zookeeper_ensemble.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;

std::string shim() {
  return fs::read_symlink("/proc/self/exe").parent_path() / "libcrosslock-connect-shim.so";
}

}  // namespace

zookeeper_ensemble::zookeeper_ensemble(const zookeeper_options& each) {
  for (ports& one : ports_) one = {free_port(), free_port()};
  for (std::size_t which = 0; which < size; ++which) {
    servers_[which] = std::make_unique<zookeeper_server>(options_of(which, each));
  }
  mend();
}

zookeeper_options zookeeper_ensemble::options_of(std::size_t which, zookeeper_options how) {
  how.id = static_cast<int>(which) + 1;
  // Ten seconds to come together, two without a word until somebody counts as gone.
  how.settings.emplace_back("initLimit", "50");
  how.settings.emplace_back("syncLimit", "10");
  // Who elects whom, and when: for a case that fails.
  how.machine.emplace_back("-Dorg.slf4j.simpleLogger.showDateTime=true");
  how.machine.emplace_back("-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum=info");
  std::string led;
  for (std::size_t peer = 0; peer < size; ++peer) {
    const auto [quorum, election] = ports_[peer];
    how.settings.emplace_back(
        "server." + std::to_string(peer + 1),
        "127.0.0.1:" + std::to_string(quorum) + ":" + std::to_string(election));
    if (peer == which) continue;
    for (const std::uint16_t port : {quorum, election}) {
      proxy::door& wire = wires_.open({.path = {}, .port = port});
      doors_[which][peer].push_back(&wire);
      led += std::to_string(port) + ":" + std::to_string(wire.port()) + ",";
    }
  }
  const std::vector<std::string> preload{"env", "LD_PRELOAD=" + shim(), "CONNECT_SHIM=" + led};
  how.through.insert(how.through.end(), preload.begin(), preload.end());
  return how;
}

std::optional<std::size_t> zookeeper_ensemble::find_leader() const {
  std::optional<std::size_t> found;
  int follow = 0;
  for (std::size_t which = 0; which < size; ++which) {
    const std::string mode = servers_[which]->mode();
    if (mode == "leader") found = which;
    if (mode == "follower") ++follow;
  }
  return follow > 0 ? found : std::nullopt;
}

std::size_t zookeeper_ensemble::leader() {
  std::optional<std::size_t> found;
  if (!eventually([&] { return (found = find_leader()).has_value(); })) {
    throw std::runtime_error{"the ZooKeeper servers have no leader: " + servers_[0]->log()};
  }
  return *found;
}

std::vector<std::size_t> zookeeper_ensemble::others(std::size_t than) const {
  std::vector<std::size_t> found;
  for (std::size_t which = 0; which < size; ++which) {
    if (which != than) found.push_back(which);
  }
  return found;
}

bool zookeeper_ensemble::all_serve() const {
  for (const auto& each : servers_) {
    if (!each->serves()) return false;
  }
  return true;
}

void zookeeper_ensemble::set_wires_of(std::size_t which, bool whole) {
  for (const std::size_t peer : others(which)) {
    for (const auto& both : {doors_[which][peer], doors_[peer][which]}) {
      for (proxy::door* const wire : both) whole ? wire->heal() : wire->cut();
    }
  }
}

void zookeeper_ensemble::mend() {
  for (std::size_t which = 0; which < size; ++which) {
    heal(which);
    zookeeper_server& each = *servers_[which];
    if (each.runs()) each.go_on();
    if (!each.runs()) each.start();
  }
  if (!eventually([&] { return all_serve() && find_leader().has_value(); })) {
    throw std::runtime_error{"the ZooKeeper servers do not come together: " + servers_[0]->log()};
  }
}

}  // namespace crosslock::servers
