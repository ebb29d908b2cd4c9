// A thread of a simulated process that takes locks in every way there is, and misbehaves.
#pragma once

#include "simulation/sim_process.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace crosslock::simulation {

/// What a worker can do with a hold, whichever way it was taken.
struct grip {
  fence number;
  std::function<release_result()> release;
  std::function<std::stop_token()> lost;
  std::function<void(critical_section_record&)>
      inside{};             ///< more to be done in the critical section
  hold* in_hand = nullptr;  ///< null: inside a mutex object
  std::int64_t life = 0;
  seam::demand demand{};
};

class worker {
 public:
  explicit worker(sim_process& home);
  void live();

 private:
  using get_hold = std::function<std::optional<hold>()>;
  using ask_async = std::function<void(acquire_callback, std::optional<duration> wait)>;

  void play_round();
  form draw_form();

  // Ways to take a lock (worker_forms.cpp).
  void take(const std::string& lock, duration patience, count refused_as, const get_hold& get,
            seam::demand demand = {});
  void take_stoppable(const std::string& lock);
  std::optional<hold> take_by_callback(const ask_async& ask);
  void take_shared(form which, const std::string& lock);
  void take_permits(form which);
  void take_and_upgrade(const std::string& lock);
  std::optional<checker::claim_record> upgrade(critical_section_record& entered, hold& held);
  void take_and_downgrade(const std::string& lock);
  void take_standard(const std::string& lock);
  void take_recursive(const std::string& lock);
  void take_run(const std::string& lock);
  void take_up_detached();

  // What is done with it.
  void use(checker::claim_record& story, const std::string& lock, const grip& held);
  void work_inside(critical_section_record& entered, const grip& held);
  void leave(critical_section_record& entered, const grip& held);
  void detach(critical_section_record& entered, const grip& held);
  void write_release(critical_section_record& entered, release_result result);
  void renew_what_is_lost(const critical_section_record& entered);

  // Mischief (worker_mischief.cpp).
  void break_somebody(const std::string& lock);
  void look(const std::string& lock);
  void forge_release(const std::string& lock);

  void give_up(const checker::claim_record& story, const error& why);
  checker::claim_record ask(const std::string& lock, seam::demand demand = {});
  void judge_stop(time_point stopped);
  void judge_patience(time_point asked, duration patience);
  time_point now() const noexcept { return stage_.now(); }
  duration draw_work();
  duration draw_lease();

  sim_process& home_;
  stage& stage_;
  const scenario& play_;
};

}  // namespace crosslock::simulation
