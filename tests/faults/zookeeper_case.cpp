// What many cases begin and end with.
#include "faults/zookeeper_case.hpp"

#include <algorithm>

namespace crosslock::faults {

zookeeper_case::pair zookeeper_case::holder_and_waiter(const client& eyes, duration of_holder,
                                                       duration of_next) {
  pair both{.holder = start("holder", of_holder), .next = start("next", of_next), .first = {}};
  both.first = fence_in(both.holder->say("acquire name 20000"));
  both.next->send("acquire name 60000");
  EXPECT_TRUE(line_reaches(eyes, "name", 1));
  return both;
}

fence zookeeper_case::take_and_release(const std::string& name) {
  const client locks = connect();
  mutex lock{locks, name};
  auto held = conformance::acquire(here(), lock, 20s);
  EXPECT_TRUE(held);
  if (!held) return {};
  const fence given = held->held().fence();
  EXPECT_EQ(held->release(), release_result::released);
  return given;
}

void zookeeper_case::end_session_of(const real_actor& whom) {
  // Or it would be back at once, and whoever came last has the session.
  wire(whom).cut();
  servers::zookeeper_talk thief{server().address(), scene().session_of(whom.number())};
  EXPECT_NE(thief.session().id, 0);
  thief.close();
  wire(whom).heal();
}

std::vector<std::string> zookeeper_case::line_of(const std::string& name) {
  auto nodes = scene().talk().children(scene().root() + "/" + name);
  const auto sequence = [](const std::string& node) { return node.substr(node.size() - 10); };
  std::sort(nodes.begin(), nodes.end(),
            [&](const auto& a, const auto& b) { return sequence(a) < sequence(b); });
  return nodes;
}

zookeeper_three::zookeeper_three() : zookeeper_three{conformance::shared_zookeeper_ensemble()} {}

zookeeper_three::zookeeper_three(servers::zookeeper_ensemble& three)
    : zookeeper_case{std::vector<servers::zookeeper_server*>{&three[0], &three[1], &three[2]}},
      three_{three} {}

}  // namespace crosslock::faults
