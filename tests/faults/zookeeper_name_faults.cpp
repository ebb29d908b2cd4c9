// Names of servers that take long to be resolved.
#include "faults/zookeeper_case.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>

namespace crosslock::faults {
namespace {

/// Nobody gets an answer while it is closed; but a case that fails shall end.
constexpr duration gate_longest = 10s;
struct resolver_gate {
  std::atomic<bool> closed{false};
  std::atomic<int> waiting{0};
};
resolver_gate& name_server() {
  static resolver_gate one;
  return one;
}

class slow_name_server {
 public:
  slow_name_server() { name_server().closed = true; }
  ~slow_name_server() { name_server().closed = false; }
  slow_name_server(const slow_name_server&) = delete;
  slow_name_server& operator=(const slow_name_server&) = delete;
  static bool is_asked() { return name_server().waiting > 0; }
};

}  // namespace
}  // namespace crosslock::faults

/// In place of the C library's, which it calls.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  auto& gate = crosslock::faults::name_server();
  ++gate.waiting;
  const auto give_up = crosslock::faults::now() + crosslock::faults::gate_longest;
  while (gate.closed && crosslock::faults::now() < give_up) {
    crosslock::faults::sleep_for_real(std::chrono::milliseconds{1});
  }
  --gate.waiting;
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

namespace crosslock::faults {
namespace {

/// Whoever connects anew asks for the names of the servers again.
TEST_F(zookeeper_faults, F23_a_name_server_that_does_not_answer_keeps_nobody_else_waiting) {
  constexpr duration timeout = 300ms;
  const client locks = connect(session, impatient(timeout));
  mutex lock{locks, "name"};
  mutex other{locks, "other"};
  const hold held = lock.acquire();
  {
    const slow_name_server silent;
    own_wire().reset();
    ASSERT_TRUE(eventually(slow_name_server::is_asked));
    const auto ends = held.expires_at();
    const time_point asked = now();
    const errc said = code_of([&] { (void)other.try_acquire(); });
    EXPECT_TRUE(said == errc::unreachable || said == errc::timed_out) << static_cast<int>(said);
    EXPECT_LE(now() - asked, timeout + stall);
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
    EXPECT_LE(boot_clock::now() - ends, stall);
  }
  EXPECT_TRUE(other.try_acquire_for(20s));
}

}  // namespace
}  // namespace crosslock::faults
