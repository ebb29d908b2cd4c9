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
  bool held_under(fence term) const;

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

bool office::held_under(fence term) const {
  const lock_info seen = cell.look();
  return std::any_of(seen.holders.begin(), seen.holders.end(),
                     [&](const claim_info& holder) { return holder.fence == term; });
}

}  // namespace inner

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
  inner::core& home = office_->home();
  const time_point end = wait ? home.end_of(*wait) : time_point::max();
  const auto granted = [office = office_, end, value = std::move(value),
                        done = std::move(done)](acquire_result result) {
    campaign_result outcome{.leadership = std::nullopt, .failure = result.failure};
    try {
      if (result.hold) {
        if (!office->proclaim(result.hold->fence(), value, end)) {
          throw error{errc::lost, "the term in '" + office->given_name->str() +
                                      "' was over before it began: a newer leader was quicker"};
        }
        outcome.leadership = leadership{*std::move(result.hold), office};
      }
    } catch (...) {
      outcome.failure = std::current_exception();
    }
    done(std::move(outcome));
  };
  home.own_line(office_->cell.name())->acquire_async(home.make_request(how, end), granted);
}

std::optional<leader_info> election::leader() const {
  seam::cell now = office_->cell.read();
  for (;;) {
    auto found = office_->read(now);
    if (!found || office_->held_under(found->fence)) return found;
    // A new leader may have proclaimed something since the reading.
    seam::cell again = office_->cell.read();
    if (again.version == now.version) return std::nullopt;
    now = std::move(again);
  }
}

void election::observe(std::stop_token stop,
                       const std::function<void(const leader_info&)>& fn) const {
  const inner::patience limit{.end = time_point::max(), .stop = std::move(stop)};
  std::uint64_t version = 0;
  fence newest;
  while (!limit.stop.stop_requested()) {
    const auto awaited =
        office_->cell.wait([&](const seam::cell& now) { return now.version != version; }, limit);
    if (!awaited.enough) return;
    version = awaited.now.version;
    const auto found = office_->read(awaited.now);
    // After a rollback of the server an older one may be there again.
    if (!found || found->fence < newest || !office_->held_under(found->fence)) continue;
    newest = found->fence;
    fn(*found);
  }
}

const lock_name& election::name() const noexcept { return *office_->given_name; }

}  // namespace crosslock
