// The observer hears of a loss on whatever thread it happens, perhaps before the acquire has
// returned to its caller; what the worker has not written down yet waits in lost_.
#include "simulation/sim_process.hpp"

#include "client/core.hpp"
#include "client/opening.hpp"
#include "simulation/worker.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::simulation {

class sim_process::listener final : public observer {
 public:
  explicit listener(sim_process& process) : process_{process} {}

  void acquired(const acquired_event& event) noexcept override {
    count_if_alive(static_cast<std::size_t>(count::asked) + static_cast<std::size_t>(event.cause));
    process_.owners_[{std::string{event.name}, event.fence.value()}] = event.owner;
  }

  void renewed(std::string_view, crosslock::fence, renew_result result) noexcept override {
    if (result == renew_result::renewed) {
      count_if_alive(static_cast<std::size_t>(count::renewals));
    }
  }

  void lost(const lost_event& event) noexcept override {
    const key which{std::string{event.name}, event.fence.value()};
    process_.stage_.world.trace("observer: lost ", event.fence.value(), ' ',
                                crosslock::to_string(event.reason));
    count_if_alive(static_cast<std::size_t>(count::expired) +
                   static_cast<std::size_t>(event.reason) - 1);
    if (!process_.lost_.insert(which).second) {
      process_.stage_.complain("I7: process ", process_.number_, " heard twice that ",
                               event.fence.value(), " is lost");
    }
    process_.judge_loss(event);
    const auto found = process_.critical_sections_.find(which);
    if (found == process_.critical_sections_.end() || found->second->listens) return;
    process_.write_loss(*found->second, crosslock::to_string(event.reason));
  }

  void released(const released_event& event) noexcept override {
    process_.releases_[{std::string{event.name}, event.fence.value()}] = event.result;
  }

 private:
  void count_if_alive(std::size_t what) {
    if (process_.alive()) process_.stage_.seen.add(static_cast<count>(what));
  }

  sim_process& process_;
};

sim_process::sim_process(stage& stage, storm& storm, std::int32_t number, time_point closing_time)
    : stage_{stage},
      storm_{storm},
      number_{number},
      closing_time_{closing_time},
      clock_{stage.world.make_process("p" + std::to_string(number))} {
  clock_.wake_delay(stage.play.wake_delay);
}

sim_process::~sim_process() = default;

void sim_process::start() {
  main_ = clock_.start("main", [this] { live(); });
}

void sim_process::live() {
  this_logical_thread() = stage_.calls.new_thread();
  open();
  work();
  plain_.clear();
  reentrant_.clear();
  shared_.clear();
  seats_.reset();
  client_.reset();
}

void sim_process::open() {
  const scenario& play = stage_.play;
  inner::settings settings;
  settings.lease = play.lease;
  settings.timeout = play.timeout;
  settings.max_hold = play.max_hold;
  settings.look_every = play.look_every;
  settings.strict_fifo = play.strict_fifo;
  settings.retry = play.retry;
  settings.pass = play.pass;
  settings.observer = std::make_shared<listener>(*this);
  auto open = [this](seam::engine_events& events, seam::clock&) -> std::unique_ptr<seam::engine> {
    auto made = std::make_unique<watched_engine>(stage_, clock_, number_, events,
                                                 [this](const owner_id& owner) { renewed(owner); });
    engine_ = made.get();
    id_ = made->id();
    storm_.belongs(id_, number_);
    return made;
  };
  client_ =
      std::make_unique<client>(inner::core::make(inner::opening_plan{settings, open}, clock_));
  clock_.on_kill([this] { stage_.network->kill_client(id_); });
  for (const std::string& name : stage_.names) {
    plain_[name] = std::make_unique<mutex>(*client_, name);
    reentrant_[name] = std::make_unique<recursive_mutex>(*client_, name);
    shared_[name] = std::make_unique<shared_mutex>(*client_, name);
  }
  seats_ = std::make_unique<semaphore>(*client_, stage_.seats, play.permits);
}

void sim_process::work() {
  std::vector<std::unique_ptr<seam::thread>> threads;
  working_ = stage_.play.threads;
  for (int i = 0; i < stage_.play.threads; ++i) {
    threads.push_back(clock_.start("worker" + std::to_string(i), [this] {
      worker{*this}.live();
      --working_;
      news_.fetch_add(1);
      clock_.unpark(news_);
    }));
  }
  while (working_ > 0 && !ending_ && stage_.now() < closing_time_) {
    clock_.park(news_, news_.load(), closing_time_);
  }
  ending_ = true;
  close();
  for (const auto& each : threads) each->join();
}

void sim_process::close() {
  const time_point begun = stage_.now();
  client_->close();
  // When the server answers in time nothing may be left to its leases.
  const bool in_time = stage_.now() - begun < stage_.play.timeout;
  const std::size_t left = engine_->left_behind();
  if (alive() && in_time && left != 0) {
    stage_.complain("I8: process ", number_, " has closed its client and left ", left,
                    " claims behind");
  }
}

void sim_process::begin_critical_section(critical_section_record& entered) {
  const key which{entered.lock, entered.number.value()};
  entered.owner = entered.in_hand ? entered.in_hand->owner() : owners_[which];
  const term* terms = engine_->find_term(entered.owner);
  if (!terms) {
    stage_.complain("I10: process ", number_, " holds ", entered.number.value(),
                    ", which the engine never granted");
    return;
  }
  const bool stale = engine_->known_broken(entered.owner) && entered.in_hand &&
                     entered.in_hand->lost_reason() == loss_reason::none;
  if (stale) {
    stage_.complain("I7: process ", number_, " was given ", entered.number.value(),
                    " after it had heard that it was broken");
  }
  entered.deadline = entered.in_hand ? entered.in_hand->expires_at() : terms->deadline;
  check_deadline(entered, terms->deadline);
  entered.story.granted(stage_.now(), {fence{entered.number.value() * 8 + entered.life},
                                       entered.deadline, terms->sent, terms->lease});
  entered.story.enters(stage_.now());
  stage_.world.trace("granted ", entered.number.value(), " of ", entered.lock);
  critical_sections_[which] = &entered;
  if (lost_.contains(which) && !entered.listens) write_loss(entered, "lost on the way");
}

void sim_process::end_critical_section(critical_section_record& entered) {
  critical_sections_.erase({entered.lock, entered.number.value()});
}

void sim_process::write_loss(critical_section_record& entered, std::string_view why) {
  if (!alive()) return;
  entered.told = true;
  entered.story.lost(stage_.now(), why);
}

void sim_process::judge_loss(const observer::lost_event& event) {
  if (!alive()) return;
  if (event.reason != loss_reason::max_hold && event.reason != loss_reason::closed) {
    engine_->note_end(event.owner, crosslock::to_string(event.reason));
  }
  const bool taken = event.reason == loss_reason::gone || event.reason == loss_reason::broken;
  const term* terms = engine_->find_term(event.owner);
  const bool explained = terms && (stage_.now() >= terms->deadline ||
                                   stage_.may_be_gone(std::string{event.name}, terms->grant.sent));
  const bool strange =
      (taken && !explained) || (event.reason == loss_reason::expired && stage_.play.calm);
  if (!strange) return;
  stage_.complain("I7: process ", number_, " lost ", event.fence.value(), " (",
                  crosslock::to_string(event.reason), ") though nothing had happened to it");
}

void sim_process::renewed(const owner_id& owner, bool just_now) {
  if (!alive()) return;
  // Whoever has the answer may have been interrupted before it could note it.
  const auto noted = [&](const auto& each) {
    const auto& hold = each.second->in_hand;
    return each.second->owner != owner || !hold ||
           hold->expires_at() == engine_->find_term(owner)->deadline;
  };
  if (just_now && stage_.play.interrupted > 0 && !std::ranges::all_of(critical_sections_, noted)) {
    const time_point later = stage_.now() + 20 * stage_.play.interrupted_max;
    stage_.world.at(later, [this, owner] { renewed(owner, false); });
    return;
  }
  for (const auto& [which, entered] : critical_sections_) {
    if (entered->owner != owner || entered->told || entered->leaving) continue;
    if (entered->in_hand && entered->in_hand->lost_reason() != loss_reason::none) continue;
    const term& terms = *engine_->find_term(owner);
    const time_point moved = entered->in_hand ? entered->in_hand->expires_at() : terms.deadline;
    if (!entered->upgrading || moved > terms.deadline) check_deadline(*entered, terms.deadline);
    if (moved <= entered->deadline) continue;
    entered->deadline = moved;
    entered->story.renews(stage_.now());
    entered->story.renewed(stage_.now(), {{}, moved, terms.sent, terms.lease});
  }
}

void sim_process::check_deadline(const critical_section_record& entered, time_point deadline) {
  if (!entered.in_hand || entered.in_hand->expires_at() == deadline) return;
  stage_.complain("I10: the deadline of ", entered.number.value(), " is off by ",
                  (entered.in_hand->expires_at() - deadline).count(), " ns");
}

release_result sim_process::heard_release(const std::string& lock, fence number) {
  const auto found = releases_.find({lock, number.value()});
  return found == releases_.end() ? release_result::not_held : found->second;
}

void sim_process::freeze(duration length) {
  if (!can_suffer() || clock_.paused()) return;
  stage_.nemesis(checker::fault::pause, number_);
  frozen_until_ = stage_.now() + length;
  stage_.world.after(length, [this] {
    if (!clock_.paused()) return;
    stage_.nemesis(checker::fault::thaw, number_);
    clock_.resume();
    stage_.network->resume_client(id_);
  });
  stage_.network->pause_client(id_);
  clock_.pause();
}

void sim_process::cut(count how, duration length) {
  using way = memory::faulty_network::way;
  if (!can_suffer() || std::exchange(cut_, true)) return;
  stage_.seen.add(how);
  stage_.nemesis(checker::fault::partition, number_, {}, to_string(how));
  switch (how) {
    case count::refused:
      stage_.network->refuse(id_);
      break;
    case count::cut_to_server:
      stage_.network->cut(id_, way::to_server);
      break;
    case count::cut_to_client:
      stage_.network->cut(id_, way::to_client);
      break;
    default:
      stage_.network->cut(id_, way::both);
      break;
  }
  stage_.world.after(length, [this] {
    stage_.network->heal(id_);
    cut_ = false;
    if (alive()) stage_.nemesis(checker::fault::heal, number_);
  });
}

void sim_process::kill() {
  if (!can_suffer()) return;
  stage_.nemesis(checker::fault::kill, number_);
  stage_.seen.add(count::killed);
  // A dead process hears nothing; its threads only run out.
  clock_.kill();
  stage_.network->resume_client(id_);
  ending_ = true;
  news_.fetch_add(1);
  clock_.unpark(news_);
}

void sim_process::close_early() {
  if (!can_suffer()) return;
  stage_.seen.add(count::closed_early);
  stage_.nemesis(checker::fault::other, number_, {}, "closes its client");
  ending_ = true;
  news_.fetch_add(1);
  clock_.unpark(news_);
}

}  // namespace crosslock::simulation
