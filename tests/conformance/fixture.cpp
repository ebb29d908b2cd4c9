// The table of fixtures, and what every case has in common.
#include "conformance/fixture.hpp"

#include "conformance/judging.hpp"

#include <utility>

namespace crosslock::conformance {
namespace {

std::vector<fixture>& table() {
  static std::vector<fixture> all;
  return all;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\n';
  return text;
}

}  // namespace

bool add_fixture(fixture fixture) {
  table().push_back(std::move(fixture));
  return true;
}

const std::vector<fixture>& fixtures() { return table(); }

std::vector<const fixture*> fixtures_of(std::string_view engine) {
  std::vector<const fixture*> found;
  for (const fixture& each : table()) {
    if (each.engine == engine) found.push_back(&each);
  }
  return found;
}

void thread_group::start(std::function<void()> body) {
  threads_.push_back(clock_.start("case", [body = std::move(body)] {
    try {
      body();
    } catch (const std::exception& why) {
      ADD_FAILURE() << "a thread of the case ended with: " << why.what();
    }
  }));
}

void thread_group::join() {
  for (const auto& each : std::exchange(threads_, {})) each->join();
}

void conformance_case::play(std::initializer_list<ability> needs,
                            const std::function<void()>& body) {
  for (const ability each : needs) {
    const auto found = GetParam()->cannot.find(each);
    if (found != GetParam()->cannot.end()) GTEST_SKIP() << found->second;
  }
  stage_ = GetParam()->make();
  stage_->let_unlocks_wait(unlocks_wait());
  stage_->run([&] {
    body();
    // What a dead process held goes with its lease.
    const bool clean =
        eventually([&] { return stage().leftovers().empty(); }, std::chrono::minutes{1});
    EXPECT_TRUE(clean) << "left on the server:\n" << join(stage().leftovers());
  });
}

client conformance_case::short_lived(std::shared_ptr<listener> listening) {
  options how;
  how.lease = lease();
  return heard_by(std::move(listening), std::move(how));
}

client conformance_case::steady(std::shared_ptr<listener> listening) {
  options how;
  how.lease = steady_lease();
  return heard_by(std::move(listening), std::move(how));
}

client conformance_case::heard_by(std::shared_ptr<listener> listening, options how) {
  how.observer = std::move(listening);
  return stage().connect(std::move(how));
}

void conformance_case::judge(checker::check_options how) { expect_kept(stage().history(), how); }

}  // namespace crosslock::conformance
