// Sessions and nodes of others, and three servers.
#include "faults/zookeeper_case.hpp"

#include <algorithm>
#include <iostream>

namespace crosslock::faults {

void zookeeper_case::end_session_of(const real_actor& whom) {
  // Or it would be back at once, and whoever came last has the session.
  wire(whom).cut();
  servers::zookeeper_talk thief{server().address(), testbed().session_of(whom.number())};
  EXPECT_NE(thief.session().id, 0);
  thief.close();
  wire(whom).heal();
}

std::vector<std::string> zookeeper_case::line_of(const std::string& name) {
  auto nodes = testbed().talk().children(testbed().root() + "/" + name);
  const auto sequence = [](const std::string& node) { return node.substr(node.size() - 10); };
  std::sort(nodes.begin(), nodes.end(),
            [&](const auto& a, const auto& b) { return sequence(a) < sequence(b); });
  return nodes;
}

zookeeper_three::zookeeper_three() : zookeeper_three{conformance::shared_zookeeper_ensemble()} {}

zookeeper_three::zookeeper_three(servers::zookeeper_ensemble& three)
    : zookeeper_case{std::vector<servers::zookeeper_server*>{&three[0], &three[1], &three[2]}},
      three_{three} {}

void zookeeper_three::TearDown() {
  for (std::size_t which = 0; HasFailure() && which < servers::zookeeper_ensemble::size; ++which) {
    const servers::zookeeper_server& each = three_[which];
    std::cerr << "server " << which << " is now '" << each.mode() << "'\n" << each.log() << '\n';
  }
}

}  // namespace crosslock::faults
