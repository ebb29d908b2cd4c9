// What all simulated processes of one seed share.
#pragma once

#include "checker/invariants.hpp"
#include "checker/recorder.hpp"
#include "engines/memory/network.hpp"
#include "simulation/fenced_register.hpp"
#include "simulation/scenario.hpp"
#include "simulation/totals.hpp"
#include "world/world.hpp"

#include <crosslock/receipt.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::simulation {

/// The events of the memory engine's network are timed events of the world.
class world_scheduler final : public memory::scheduler {
 public:
  explicit world_scheduler(world::world& world) : world_{world} {}

  time_point now() const override { return world_.now(); }
  void at(time_point moment, std::function<void()> run) override {
    world_.at(moment, std::move(run));
  }
  std::uint64_t random() override { return world_.rng()(); }

 private:
  world::world& world_;
};

/// A detached hold that waits for somebody to take it up.
struct detached_hold {
  receipt about;
  seam::demand demand;
  std::int64_t life;  ///< how often it has been taken up before
  time_point written;
  time_point good_until;
};

/// Only for simulated threads and timed events, of which one runs at a time.
class stage {
 public:
  stage(const scenario& scenario, world::world& the_world)
      : play{scenario},
        world{the_world},
        time_{the_world},
        network{std::make_shared<memory::faulty_network>(time_)} {
    for (int i = 0; i < play.names; ++i) names.push_back(i == 0 ? "stock" : "till");
  }

  const scenario& play;
  world::world& world;

 private:
  world_scheduler time_;

 public:
  const std::shared_ptr<memory::faulty_network> network;
  checker::recorder calls;   ///< what users did and saw
  checker::recorder claims;  ///< what went over the seam, by owner id
  totals seen;
  std::vector<std::string> names;
  const std::string seats = "seats";  ///< the name of the semaphore
  std::map<std::string, fenced_register> registers;
  std::vector<detached_hold> detached_holds;
  std::map<std::string, fence> last_given;   ///< by name: what forgers have heard of
  std::vector<std::string> complaints;       ///< broken promises found here, not by the checker
  std::set<checker::invariant> broken_here;  ///< of these, for the mutants

  time_point now() const noexcept { return world.now(); }
  world::random_stream& rng() noexcept { return world.rng(); }

  void nemesis(checker::fault kind, std::int32_t proc = checker::event::nobody,
               std::string_view lock = {}, std::string_view what = {}) {
    world.trace("NEMESIS ", checker::to_string(kind), " of ", proc, ' ', lock, ' ', what);
    const bool forgets = kind == checker::fault::state_loss || kind == checker::fault::rollback ||
                         kind == checker::fault::clock_step;
    if (forgets) last_forgotten_ = now();
    if (kind == checker::fault::admin_delete) {
      last_broken_[std::string{lock}] = now() + play.everything_over();
    }
    calls.nemesis(now(), kind, proc, lock, what);
    claims.nemesis(now(), kind, proc, lock, what);
  }

  /// I13: whom the server itself shows as holders at this moment.
  void show_holders(const seam::name_ref& name) {
    memory::server copy = network->server_copy();
    const auto seen = copy.apply(0, memory::look_request{name}, network->server_now()).answer;
    const lock_info& info = std::get<memory::look_reply>(seen).info;
    if (info.holders.empty()) claims.shown(now(), now(), name->str(), {});
    for (const claim_info& one : info.holders) {
      claims.shown(now(), now(), name->str(), one.fence);
    }
  }

  /// Has anything happened since then that makes a server forget a grant?
  bool may_be_gone(const std::string& lock, time_point granted) const {
    const auto broken = last_broken_.find(lock);
    return last_forgotten_ >= granted ||
           (broken != last_broken_.end() && broken->second >= granted);
  }

  template <class... Parts>
  void complain(const Parts&... parts) {
    std::ostringstream text;
    text << "at " << now().time_since_epoch().count() << ": ";
    (text << ... << parts);
    world.trace("COMPLAINT ", text.str());
    complaints.push_back(text.str());
  }

 private:
  time_point last_forgotten_{};
  std::map<std::string, time_point> last_broken_;  ///< until when it may take effect
};

}  // namespace crosslock::simulation
