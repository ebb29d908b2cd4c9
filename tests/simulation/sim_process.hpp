// One simulated client process: its client, its threads, and the book of what its users see.
#pragma once

#include "simulation/stage.hpp"
#include "simulation/storm.hpp"
#include "simulation/watched_engine.hpp"

#include <crosslock/crosslock.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::simulation {

/// The life of one hold as its user sees it.
struct critical_section_record {
  checker::claim_record story;
  std::string lock;
  fence number;
  std::int64_t life = 0;  ///< how often the hold was detached and taken up again
  seam::demand demand{};
  const hold* in_hand = nullptr;
  bool listens = false;    ///< its loss is written down by a callback, not by the observer
  bool told = false;       ///< of its loss
  bool leaving = false;    ///< its release has begun: renewals move nothing any more
  bool upgrading = false;  ///< its release may have begun

  owner_id owner{};
  time_point deadline{};  ///< as last written down
};

/// Made by the stage's director, lives until the end of the run.
class sim_process {
 public:
  sim_process(stage& stage, storm& storm, std::int32_t number, time_point closing_time);
  ~sim_process();
  sim_process(const sim_process&) = delete;
  sim_process& operator=(const sim_process&) = delete;

  void start();
  void join() { main_->join(); }

  // For the nemesis.
  bool can_suffer() const noexcept { return id_ != 0 && !ending_ && clock_.alive(); }
  void freeze(duration length);
  void cut(count how, duration length);
  void kill();
  void close_early();

  // For its workers.
  stage& home() noexcept { return stage_; }
  world::process& clock() noexcept { return clock_; }
  std::int32_t number() const noexcept { return number_; }
  bool alive() const noexcept { return clock_.alive(); }
  bool going() const noexcept { return clock_.alive() && !ending_; }
  bool frozen_since(time_point moment) const noexcept { return frozen_until_ >= moment; }
  const client& locks() const noexcept { return *client_; }
  mutex& plain(const std::string& lock) { return *plain_.at(lock); }
  recursive_mutex& reentrant(const std::string& lock) { return *reentrant_.at(lock); }
  shared_mutex& shared(const std::string& lock) { return *shared_.at(lock); }
  semaphore& seats() { return *seats_; }
  watched_engine& engine() noexcept { return *engine_; }

  /// Writes the grant down and follows it until end_critical_section().
  void begin_critical_section(critical_section_record& entered);
  void end_critical_section(critical_section_record& entered);
  void write_loss(critical_section_record& entered, std::string_view why);
  /// What the observer heard of the release of that hold.
  release_result heard_release(const std::string& lock, fence number);

 private:
  class listener;
  using key = std::pair<std::string, std::int64_t>;

  void live();
  void open();
  void work();
  void close();
  /// `just_now`: the answer has come in this moment.
  void renewed(const owner_id& owner, bool just_now = true);
  void judge_loss(const observer::lost_event& event);
  void check_deadline(const critical_section_record& entered, time_point deadline);

  stage& stage_;
  storm& storm_;
  const std::int32_t number_;
  const time_point closing_time_;
  world::process& clock_;
  std::unique_ptr<seam::thread> main_;

  std::unique_ptr<client> client_;
  watched_engine* engine_ = nullptr;  ///< owned by the client's core
  memory::client_id id_ = 0;
  std::map<std::string, std::unique_ptr<mutex>> plain_;
  std::map<std::string, std::unique_ptr<recursive_mutex>> reentrant_;
  std::map<std::string, std::unique_ptr<shared_mutex>> shared_;
  std::unique_ptr<semaphore> seats_;

  seam::park_word news_{0};
  int working_ = 0;
  bool ending_ = false;
  bool cut_ = false;
  time_point frozen_until_{};

  std::map<key, critical_section_record*> critical_sections_;
  std::map<key, owner_id> owners_;  ///< of holds the observer was told of
  std::set<key> lost_;              ///< those it was told to be lost
  std::map<key, release_result> releases_;
};

}  // namespace crosslock::simulation
