// The office is a lock; what its holder proclaims is in a cell of the same name, written under the
// fence of its term. Every candidate stands in the server's line by itself: no term is passed on
// without the server, so the fence that look() shows is that of the term.
#include <crosslock/election.hpp>

#include "cells/cells.hpp"
#include "cells/proclamation.hpp"

#include <algorithm>
#include <utility>

namespace crosslock {

namespace inner {

struct office : std::enable_shared_from_this<office> {
  office(const client& locks, std::string_view name)
      : given_name{locks.core()->given_name(locks.core()->full_name(name))},
        cell{locks.core(), std::make_shared<const lock_name>(lock_name::reserved(
                               "election", locks.core()->full_name(name)->view()))} {}

  core& home() const noexcept { return cell.home(); }

  /// What is wanted by `end` has the time of one request at least.
  bool proclaim(fence term, const std::string& value, time_point end = time_point::max()) const {
    const patience limit{std::max(end, home().clock().now() + home().settings().timeout), {}};
    return cell.write(term, to_text(leader_info{value, term}), 0, limit).accepted;
  }

  std::optional<leader_info> read(const seam::cell& now) const {
    return read_proclamation(*given_name, now.value);
  }

  std::optional<leadership> campaign(const std::string& value, const acquire_how& how,
                                     time_point end) const;
  void campaign_async(std::string value, acquisition<leadership>::callback done,
                      const acquire_how& how, const std::optional<duration>& wait,
                      continuation_executor executor) const;
  bool erase() const;
  bool held_under(fence term, const patience& limit = {}) const;
  std::optional<leader_info> leader(const patience& limit = {}) const;

  const seam::name_ref given_name;
  const cell_access cell;
};

std::optional<leadership> office::campaign(const std::string& value, const acquire_how& how,
                                           time_point end) const {
  for (;;) {
    auto entered = home().own_line(cell.name())->acquire(home().make_request(how, end));
    if (!entered) return std::nullopt;
    hold held{std::move(entered)};
    if (proclaim(held.fence(), value, end)) return leadership{std::move(held), shared_from_this()};
    // This term was over before it began: the next one was quicker.
  }
}

void office::campaign_async(std::string value, acquisition<leadership>::callback done,
                            const acquire_how& how, const std::optional<duration>& wait,
                            continuation_executor executor) const {
  const time_point end = wait ? home().end_of(*wait) : time_point::max();
  const auto granted = [self = shared_from_this(), end, value = std::move(value),
                        done = std::move(done),
                        executor = std::move(executor)](acquire_result result) {
    const auto outcome = std::make_shared<acquire_outcome<leadership>>();
    outcome->failure = result.failure;
    try {
      if (result.hold) {
        if (!self->proclaim(result.hold->fence(), value, end)) {
          throw error{errc::lost, "the term in '" + self->given_name->str() +
                                      "' was over before it began: a newer leader was quicker"};
        }
        outcome->hold = leadership{*std::move(result.hold), self};
      }
    } catch (...) {
      outcome->failure = std::current_exception();
    }
    if (!executor) return done(std::move(*outcome));
    self->home().callback_runner().post([done, outcome] { done(std::move(*outcome)); }, executor);
  };
  home().own_line(cell.name())->acquire_async(home().make_request(how, end), granted);
}

/// Whoever holds the office leads: nobody else does while it is erased, and under its fence.
bool office::erase() const {
  auto entered =
      home().own_line(cell.name())->acquire(home().make_request({}, acquire_request::no_wait));
  if (!entered) return false;
  hold held{std::move(entered)};
  const bool gone = cell.erase(std::nullopt, held.fence()) == cell_access::erased::gone;
  held.release();
  return gone;
}

bool office::held_under(fence term, const patience& limit) const {
  const lock_info seen = cell.look(limit);
  return std::any_of(seen.holders.begin(), seen.holders.end(),
                     [&](const claim_info& holder) { return holder.fence == term; });
}

std::optional<leader_info> office::leader(const patience& limit) const {
  seam::cell now = cell.read(limit);
  for (;;) {
    auto found = read(now);
    if (!found || held_under(found->fence, limit)) return found;
    // A new leader may have proclaimed something since the reading.
    seam::cell again = cell.read(limit);
    if (again.version == now.version) return std::nullopt;
    now = std::move(again);
  }
}

}  // namespace inner

void inner::acquire_plan<leadership>::start(std::function<void(acquire_outcome<leadership>)> done) {
  const auto from = std::exchange(office, nullptr);
  if (!from) refuse_second_start();
  from->campaign_async(std::move(value), std::move(done), how, wait, std::move(executor));
}

leadership::leadership(hold held, std::shared_ptr<const inner::office> office) noexcept
    : held_{std::move(held)}, office_{std::move(office)} {}
leadership::leadership(leadership&& other) noexcept = default;
leadership& leadership::operator=(leadership&& other) noexcept = default;
leadership::~leadership() = default;

void leadership::proclaim(const std::string& value) {
  held_.check();
  if (office_->proclaim(held_.fence(), value)) return;
  throw error{errc::lost, "'" + office_->given_name->str() + "' has a newer leader"};
}

election::election(const client& locks, std::string_view name)
    : office_{std::make_shared<const inner::office>(locks, name)} {}
election::election(const client& locks, lock_name name) : election{locks, name.view()} {}
election::~election() = default;

leadership election::campaign(const std::string& value, const acquire_how& how) {
  if (auto won = office_->campaign(value, how, time_point::max())) return *std::move(won);
  throw error{errc::cancelled, "the campaign for '" + name().str() + "' was stopped"};
}

std::optional<leadership> election::campaign_within(duration wait, const std::string& value,
                                                    const acquire_how& how) {
  return office_->campaign(value, how, office_->home().end_of(wait));
}

void election::campaign_async(std::string value, campaign_callback done, const acquire_how& how,
                              std::optional<duration> wait) {
  const auto told = [done = std::move(done)](acquire_outcome<leadership> outcome) {
    done({.leadership = std::move(outcome.hold), .failure = outcome.failure});
  };
  office_->campaign_async(std::move(value), told, how, wait, {});
}

acquisition<leadership> election::async_campaign(std::string value, acquire_how how,
                                                 std::optional<duration> wait) {
  return acquisition<leadership>{inner::acquire_plan<leadership>{.office = office_,
                                                                 .value = std::move(value),
                                                                 .how = std::move(how),
                                                                 .wait = wait,
                                                                 .executor = {}}};
}

bool election::erase() { return office_->erase(); }

std::optional<leader_info> election::leader() const { return office_->leader(); }

void election::observe_terms(std::stop_token stop,
                             const std::function<void(const std::optional<leader_info>&)>& fn,
                             bool vacancies) const {
  const inner::core& home = office_->home();
  inner::cell_wait mine = office_->cell.begin_wait();
  const inner::patience limit{.end = time_point::max(), .stop = std::move(stop), .wait = &mine};
  std::uint64_t version = 0;
  fence newest;
  try {
    bool vacant = vacancies && !office_->leader(limit);
    if (vacant) fn(std::nullopt);
    while (!limit.stop.stop_requested()) {
      // Nobody writes that a term is over, least of all who has died in office: it is looked for.
      const bool looks = vacancies && !vacant;
      const auto awaited = office_->cell.wait(
          [&](const seam::cell& now) { return now.version != version; }, limit,
          looks ? home.clock().now() + home.settings().look_every : time_point::max());
      if (limit.stop.stop_requested()) return;
      const auto found = office_->read(awaited.now);
      const bool news = std::exchange(version, awaited.now.version) != awaited.now.version;
      // After a rollback of the server an older one may be there again.
      const bool led = found && found->fence >= newest && office_->held_under(found->fence, limit);
      if (led && news) {
        newest = found->fence;
        vacant = false;
        fn(found);
      } else if (looks && !led) {
        vacant = true;
        fn(std::nullopt);
      }
    }
  } catch (const inner::out_of_time&) {
    // Stopped, amid an outage.
  }
}

const lock_name& election::name() const noexcept { return *office_->given_name; }

}  // namespace crosslock
