// Which stages there are for which engine, and how a case gets onto each of them.
//
//   CONFORMANCE_SUITE(waiting);
//   TEST_P(waiting, a_busy_try_leaves_nothing_behind) {
//     play([this] { ... });
//   }
//   TEST_P(waiting, ...) { play({ability::server_faults}, [this] { ... }); }
//
// gives `memory/waiting.a_busy_try_leaves_nothing_behind/virtual_time` and so on.
#pragma once

#include "conformance/listener.hpp"
#include "conformance/stage.hpp"
#include "conformance/witness.hpp"

#include <crosslock/crosslock.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::conformance {

/// What a stage may be unable to do. Not what an engine does not promise: that is in its traits.
enum class ability {
  processes,      ///< start_process()
  server_faults,  ///< restarts, lost wake-ups, lost and late messages
  long_times,     ///< minutes pass at once
  timely,         ///< no thread is ever kept from running for as long as the steady lease
  fork,           ///< the case's own process may fork()
};
inline constexpr std::initializer_list<ability> all_abilities{
    ability::processes, ability::server_faults, ability::long_times, ability::timely,
    ability::fork};

struct fixture {
  std::string engine;                     ///< as the registry calls it
  std::string variant;                    ///< tells the stages of one engine apart
  std::map<ability, std::string> cannot;  ///< with the reason; another variant must be able
  std::function<std::unique_ptr<stage>()> make;
};

/// How GoogleTest shows the parameter of a case.
inline void PrintTo(const fixture* which, std::ostream* out) {
  *out << which->engine << ' ' << which->variant;
}

/// Called by each file in fixtures/ before main.
bool add_fixture(fixture fixture);
const std::vector<fixture>& fixtures();
std::vector<const fixture*> fixtures_of(std::string_view engine);

/// Threads of a case. Joined at the end of its scope at the latest; an exception in one of them
/// fails the case.
class thread_group {
 public:
  explicit thread_group(seam::clock& clock) : clock_{clock} {}
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  ~thread_group() { join(); }

  void start(std::function<void()> body);
  void join();

 private:
  seam::clock& clock_;
  std::vector<std::unique_ptr<seam::thread>> threads_;
};

class conformance_case : public testing::TestWithParam<const fixture*> {
 protected:
  /// Runs a case on the stage, then looks whether anything is left behind.
  void play(const std::function<void()>& body) { play({}, body); }
  void play(std::initializer_list<ability> needs, const std::function<void()>& body);

  /// Whether unlock() of the case's own clients waits for its answer.
  virtual bool unlocks_wait() const { return true; }

  conformance::stage& stage() { return *stage_; }
  duration lease() { return stage().bounds().lease; }
  duration steady_lease() { return stage().bounds().steady_lease; }

  /// Waits until the question is answered with yes; false when it is not in time.
  template <class Question>
  bool eventually(Question&& question, duration within = std::chrono::seconds{20}) {
    const time_point end = stage().now() + within;
    while (!question()) {
      if (stage().now() >= end) return false;
      stage().sleep(std::chrono::milliseconds{1});
    }
    return true;
  }
  /// Waits until so many stand in the server's line of a name.
  bool line_reaches(const client& locks, const std::string& name, std::size_t waiters) {
    return eventually([&] { return locks.look(name).line.size() == waiters; });
  }
  /// A client with the stage's short lease; `listening`, if given, hears what it does.
  client short_lived(std::shared_ptr<listener> listening = nullptr);
  /// The same with the steady lease: its holds last until they are released.
  client steady(std::shared_ptr<listener> listening = nullptr);
  client heard_by(std::shared_ptr<listener> listening, options options = {});

  /// Judges what was recorded so far.
  void judge(checker::check_options how);
  void judge() { judge(stage().strictness()); }

 private:
  std::unique_ptr<conformance::stage> stage_;
};

template <class Call>
errc code_of(Call&& call) {
  try {
    call();
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

inline std::string variant_name(const testing::TestParamInfo<const fixture*>& info) {
  return info.param->variant;
}

#define CONFORMANCE_SUITE_FOR(engine, suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(engine, suite,                                                     \
                           testing::ValuesIn(::crosslock::conformance::fixtures_of(#engine)), \
                           ::crosslock::conformance::variant_name)

#define CONFORMANCE_ON_EVERY_STAGE(suite)  \
  CONFORMANCE_SUITE_FOR(memory, suite);    \
  CONFORMANCE_SUITE_FOR(sqlite, suite);    \
  CONFORMANCE_SUITE_FOR(redis, suite);     \
  CONFORMANCE_SUITE_FOR(redlock, suite);   \
  CONFORMANCE_SUITE_FOR(zookeeper, suite); \
  CONFORMANCE_SUITE_FOR(etcd, suite);      \
  CONFORMANCE_SUITE_FOR(mariadb, suite);   \
  CONFORMANCE_SUITE_FOR(postgres, suite)

/// A suite of cases whose clients unlock as those of programs do: without waiting.
#define CONFORMANCE_SUITE_UNWAITING(suite)                          \
  class suite : public ::crosslock::conformance::conformance_case { \
    bool unlocks_wait() const override { return false; }            \
  };                                                                \
  CONFORMANCE_ON_EVERY_STAGE(suite)

/// A suite of cases, played on every stage of every engine.
#define CONFORMANCE_SUITE(suite)                                      \
  class suite : public ::crosslock::conformance::conformance_case {}; \
  CONFORMANCE_ON_EVERY_STAGE(suite)

}  // namespace crosslock::conformance
