// Carries out what a step of the line has decided: wake-ups, deliveries, errands, reports.
#include "local/afterwards.hpp"

#include "local/core.hpp"

#include <utility>

namespace crosslock::inner {

void line::afterwards::wake(waiter& waiter) {
  waiter.news.fetch_add(1);
  if (!wake_) {
    wake_ = &waiter.news;
  } else {
    more_wakes_.push_back(&waiter.news);
  }
}

void line::afterwards::deliver(std::shared_ptr<waiter> done) {
  delivered_.push_back(std::move(done));
}

void line::afterwards::plan(time_point moment, std::uint64_t round) {
  planned_.emplace_back(moment, round);
}

void line::afterwards::release(const seam::grant& grant, time_point deadline,
                               std::shared_ptr<std::atomic<bool>> given_back) {
  released_ = late_release{grant, deadline, std::move(given_back)};
}

void line::afterwards::tell(std::optional<std::stop_source> stop,
                            const observer::lost_event& event) {
  losses_.push_back({std::move(stop), event});
}

void line::afterwards::run() {
  core& home = line_.home_;
  // The waiter may have returned meanwhile: only the address of its word is used.
  if (wake_) home.engine().rouse(home.clock(), *wake_);
  for (seam::park_word* word : more_wakes_) home.engine().rouse(home.clock(), *word);
  for (loss& told : losses_) tell_loss(told);
  if (listened_) home.engine().listen_for_wanted({*listened_->name, listened_->owner});
  for (const seam::claim& claim : withdrawn_) {
    if (withdraw_here_) {
      home.keeper().withdraw(claim);
    } else {
      home.keeper().withdraw_later(claim);
    }
  }
  if (released_) {
    home.keeper().release_later(released_->grant, released_->deadline, released_->given_back);
  }
  for (const auto& [moment, round] : planned_) ask_later(moment, round);
  for (const auto& done : delivered_) deliver_one(done);
  for (const std::uint64_t round : asks_) {
    if (ask_elsewhere_) {
      ask_later(time_point::min(), round);
    } else {
      line_.ask_without_blocking(round);
    }
  }
}

void line::afterwards::ask_later(time_point moment, std::uint64_t round) {
  line_.home_.keeper().timers().at(moment, [weak = line_.weak_from_this(), round] {
    if (const auto here = weak.lock()) here->ask_without_blocking(round);
  });
}

void line::afterwards::tell_loss(loss& told) {
  core& home = line_.home_;
  const settings& settings = home.settings();
  if (!told.stop && !settings.observer && !settings.log) return;
  // The notice outlives this step, and the client perhaps: it owns all it needs.
  home.keeper().tell_loss([stop = std::move(told.stop), event = told.event, name = line_.name_,
                           observer = settings.observer, log = settings.log]() mutable {
    if (stop) stop->request_stop();
    if (observer) observer->lost(event);
    if (log) {
      log(log_level::warning,
          "lost '" + name->str() + "': " + std::string{to_string(event.reason)});
    }
  });
}

void line::afterwards::deliver_one(const std::shared_ptr<waiter>& done) {
  core& home = line_.home_;
  home.keeper().timers().cancel(done->timer);
  report(home, *done);
  const auto continuation = [done] {
    // A stop that is being carried out on another thread still uses line and client, and what the
    // callback leaves may be their last owner: it is waited for.
    done->stop_watch.reset();
    // Out of the waiter, which may end on a thread of the library: both may own the client.
    auto section = std::move(done->section);
    const auto callback = std::move(done->done);
    acquire_result result;
    result.failure = done->failure;
    if (done->now_is == waiter::state::granted) result.hold.emplace(std::move(section));
    callback(std::move(result));
  };
  // Not kept by what it is going to keep: an executor may own what it was given.
  const auto executor = std::move(done->wish.executor);
  home.courier().post(continuation, executor);
}

void report(core& home, const waiter& ended) {
  observer* const observer = home.observer();
  if (!observer) return;
  const std::string_view name = ended.section->full_name().view();
  const duration waited = home.clock().now() - ended.started;
  if (ended.now_is == waiter::state::granted) {
    observer->acquired({.name = name,
                        .owner = ended.section->owner(),
                        .fence = ended.section->fence(),
                        .cause = ended.cause,
                        .waited = waited,
                        .deadline = ended.section->expires_at()});
  } else {
    observer->waited(name, ended.left_because, waited);
  }
}

}  // namespace crosslock::inner
