// Carries out what a step of the line has decided: wake-ups, deliveries, tasks, reports.
#include "local/deferred_actions.hpp"

#include "local/client_context.hpp"
#include "local/line.hpp"

#include <utility>

namespace crosslock::inner {

void deferred_actions::wake(waiter& waiter) {
  waiter.news.fetch_add(1);
  if (!wake_) {
    wake_ = &waiter.news;
  } else {
    more_wakes_.push_back(&waiter.news);
  }
}

void deferred_actions::deliver(std::shared_ptr<waiter> done) {
  delivered_.push_back(std::move(done));
}

void deferred_actions::release(const seam::grant& grant, time_point deadline,
                               std::shared_ptr<std::atomic<bool>> given_back) {
  released_ = late_release{grant, deadline, std::move(given_back)};
}

void deferred_actions::tell(std::optional<std::stop_source> stop,
                            const observer::lost_event& event) {
  losses_.push_back({std::move(stop), event});
}

void deferred_actions::run() {
  client_context& home = line_.home();
  // The waiter may have returned meanwhile: only the address of its word is used.
  if (wake_) home.rouse(*wake_);
  for (seam::park_word* word : more_wakes_) home.rouse(*word);
  for (loss& told : losses_) tell_loss(told);
  if (listened_) home.engine().listen_for_wanted({*listened_->name, listened_->owner});
  for (const withdrawal& each : withdrawn_) {
    if (each.here_until) {
      home.keeper().withdraw(each.claim, *each.here_until);
    } else {
      home.keeper().withdraw_later(each.claim);
    }
  }
  if (released_) {
    home.keeper().release_later(released_->grant, released_->deadline, released_->given_back);
  }
  if (tell_elsewhere_) {
    tell_away();
  } else {
    if (trouble_) home.tell_trouble(*line_.name(), *trouble_);
    for (const auto& done : delivered_) deliver_one(home, done);
  }
  if (!withdrawn_first_.empty()) return withdraw_and_ask();
  for (const seam::claim& claim : asks_) {
    if (ask_elsewhere_) {
      ask_later(claim);
    } else {
      line_.claims().send(claim);
    }
  }
}

void deferred_actions::tell_away() {
  if (!trouble_ && delivered_.empty()) return;
  // Whoever waits owns the client.
  const auto home = line_.home().shared_from_this();
  if (trouble_) {
    home->callback_runner().post_away([home, name = line_.name(), trouble = *std::move(trouble_)] {
      home->tell_trouble(*name, trouble);
    });
  }
  for (auto& done : delivered_) {
    home->callback_runner().post_away([home, done = std::move(done)] { deliver_one(*home, done); });
  }
}

void deferred_actions::ask_later(const seam::claim& claim) {
  line_.home().keeper().timers().post([weak = line_.weak_from_this(), claim] {
    if (const auto here = weak.lock()) here->claims().send(claim);
  });
}

// Both concern one waiter: each has one claim at a time.
void deferred_actions::withdraw_and_ask() {
  auto asks = [weak = line_.weak_from_this(), claims = std::move(asks_)] {
    const auto here = weak.lock();
    if (!here) return;
    for (const seam::claim& claim : claims) here->claims().send(claim);
  };
  inner::keeper& keeper = line_.home().keeper();
  for (std::size_t i = 0; i + 1 < withdrawn_first_.size(); ++i) {
    keeper.withdraw_later(withdrawn_first_[i]);
  }
  keeper.withdraw_later(withdrawn_first_.back(), std::move(asks));
}

void deferred_actions::tell_loss(loss& told) {
  client_context& home = line_.home();
  const settings& settings = home.settings();
  if (!told.stop && !settings.observer && !settings.log) return;
  loss_notice notice{std::move(told.stop), {}};
  if (settings.observer || settings.log) {
    // It outlives this step, and the client perhaps: it owns all it needs.
    notice.told = [event = told.event, name = line_.name(), observer = settings.observer,
                   log = settings.log] {
      if (observer) observer->lost(event);
      log.say(log_level::warning, "lost '", name->view(), "': ", to_string(event.reason));
    };
  }
  home.keeper().tell_loss(std::move(notice));
}

void deferred_actions::deliver_one(client_context& home, const std::shared_ptr<waiter>& done) {
  home.keeper().timers().cancel(done->timer);
  home.keeper().timers().cancel(done->overdue);
  report(home, *done);
  const auto continuation = [done] {
    // A stop that is being carried out on another thread still uses line and client, and what the
    // callback leaves may be their last owner: it is waited for.
    done->stop_watch.reset();
    // Out of the waiter, which may end on a thread of the library: both may own the client.
    auto entered = std::move(done->critical_section);
    const auto callback = std::move(done->done);
    acquire_result result;
    result.failure = done->failure;
    if (done->now_is == waiter::state::granted) result.hold.emplace(std::move(entered));
    callback(std::move(result));
  };
  // Not kept by what it is going to keep: an executor may own what it was given.
  const auto executor = std::move(done->request.executor);
  home.callback_runner().post(continuation, executor);
}

void report(client_context& home, const waiter& ended) {
  observer* const observer = home.observer();
  if (!observer) return;
  const std::string_view name = ended.critical_section->full_name().view();
  const duration waited = home.clock().now() - ended.started;
  if (ended.now_is == waiter::state::granted) {
    observer->acquired({.name = name,
                        .owner = ended.critical_section->owner(),
                        .fence = ended.critical_section->fence(),
                        .cause = ended.cause,
                        .waited = waited,
                        .deadline = ended.critical_section->expires_at()});
  } else {
    observer->waited(name, ended.left_because, waited);
  }
}

}  // namespace crosslock::inner
