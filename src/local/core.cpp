// Opening and closing a client, its table of lines, and the way of the engine's reports to them.
#include "local/core.hpp"

#include "local/agreement.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::inner {

core::core(opening_plan plan, seam::clock& clock)
    : settings_{plan.settings},
      clock_{clock},
      courier_{std::make_unique<inner::courier>(clock, settings_.executor)},
      keeper_{std::make_unique<inner::keeper>(open_engine(plan, *this, clock), clock, settings_)} {
  make_wish({}, time_point::max());  // a lease that the engine does not grant is told now
}

std::shared_ptr<core> core::make(opening_plan plan, seam::clock& clock) {
  return {new core{std::move(plan), clock}, [](core* ended) {
            if (ended->inherited_by_fork() || !ended->keeper_->on_own_thread()) {
              delete ended;
              return;
            }
            // An event brought the last owner to one of the keeper's threads, which must go on to
            // its end before it can be joined.
            ended->clock_.start("crosslock-end", [ended] { delete ended; })->detach();
          }};
}

core::~core() {
  if (inherited_by_fork()) {
    // The threads are the parent's. Close file descriptors, and leave the rest as it is.
    keeper_->abandon();
    static_cast<void>(keeper_.release());
    static_cast<void>(courier_.release());
    return;
  }
  close();
}

void core::close() noexcept {
  if (inherited_by_fork()) return;
  if (closed_.exchange(true)) return;
  closed_by_.store(clock_.now() + settings_.timeout);
  keeper_->closes_by(closed_by_.load());
  rouse(cell_watches_.all_changed());
  for (const auto& line : all_lines()) line->close();
  for (;;) {
    const std::uint32_t seen = claims_ended_.load();
    if (claiming_.load() == 0 || clock_.now() >= closed_by_.load()) break;
    clock_.park(claims_ended_, seen, closed_by_.load());
  }
  keeper_->close(closed_by_.load());
  courier_->close();
}

void core::claim_ends() noexcept {
  if (claiming_.fetch_sub(1) != 1 || !closed_.load()) return;
  claims_ended_.fetch_add(1);
  clock_.unpark(claims_ended_);
}

time_point core::give_up() const noexcept {
  return std::min(clock_.now() + settings_.timeout, closed_by_.load());
}

void core::check_usable() const {
  if (inherited_by_fork()) {
    throw error{errc::forked,
                "this client belongs to the parent process: connect again after fork()"};
  }
  if (closed_.load(std::memory_order_relaxed)) {
    throw error{errc::closed, "the client was closed"};
  }
}

seam::name_ref core::full_name(std::string_view name) const {
  if (settings_.prefix.empty()) return std::make_shared<const lock_name>(name);
  static_cast<void>(lock_name{name});  // the prefix does not make a bad name good
  return std::make_shared<const lock_name>(settings_.prefix + std::string{name});
}

seam::name_ref core::given_name(const seam::name_ref& full) const {
  const std::string_view text = full->view();
  const bool ours = text.starts_with(settings_.prefix) && text.size() > settings_.prefix.size();
  if (settings_.prefix.empty() || !ours) return full;
  return std::make_shared<const lock_name>(text.substr(settings_.prefix.size()));
}

duration core::lease() const noexcept {
  const seam::traits& about = engine().about();
  return about.lease_is_session ? about.session : settings_.lease;
}

wish core::make_wish(const acquire_how& how, time_point end, seam::wish want) const {
  const duration lease = how.lease.value_or(this->lease());
  const seam::traits& about = engine().about();
  if (lease < about.lease_min || lease > about.lease_max) {
    throw error{errc::invalid_lease,
                "a lease of " + std::to_string(lease.count()) + " ns is not between " +
                    std::to_string(about.lease_min.count()) + " and " +
                    std::to_string(about.lease_max.count()) + " ns",
                {.engine = std::string{about.name}}};
  }
  return {.want = want,
          .lease = lease,
          .fixed = how.lease.has_value(),
          .end = end,
          .stop = how.stop,
          .executor = {}};
}

time_point core::end_of(duration wait) const {
  if (wait < duration::zero()) {
    throw error{errc::invalid_lease, "a negative waiting time: use zero to try once"};
  }
  if (wait == duration::zero()) return wish::no_wait;
  const time_point now = clock_.now();
  return wait < time_point::max() - now ? now + wait : time_point::max();
}

std::shared_ptr<line> core::add_line(const seam::name_ref& name, bool common) {
  // The mutex is held: close() sees every line that is added before.
  if (closed_.load()) throw error{errc::closed, "the client was closed"};
  auto made = std::make_shared<line>(*this, name, given_name(name), common);
  lines_.emplace(name->view(), made.get());
  return made;
}

std::shared_ptr<line> core::line_for(const seam::name_ref& name) {
  const std::lock_guard guard{mutex_};
  const auto [first, last] = lines_.equal_range(name->view());
  for (auto at = first; at != last; ++at) {
    if (!at->second->common()) continue;
    if (auto found = at->second->weak_from_this().lock()) {
      return std::static_pointer_cast<line>(found);
    }
  }
  return add_line(name, true);
}

std::shared_ptr<line> core::own_line(const seam::name_ref& name) {
  check_usable();  // before the mutex, which may be locked for ever in a forked child
  const std::lock_guard guard{mutex_};
  return add_line(name, false);
}

void core::forget(const line& line) noexcept {
  if (inherited_by_fork()) return;  // the mutex may be locked for ever in this copy
  const std::lock_guard guard{mutex_};
  const auto [first, last] = lines_.equal_range(line.name()->view());
  for (auto at = first; at != last; ++at) {
    if (at->second == &line) {
      lines_.erase(at);
      return;
    }
  }
}

std::vector<std::shared_ptr<line>> core::lines_named(const lock_name& name) {
  std::vector<std::shared_ptr<line>> found;
  const std::lock_guard guard{mutex_};
  const auto [first, last] = lines_.equal_range(name.view());
  for (auto at = first; at != last; ++at) {
    if (auto line = at->second->weak_from_this().lock()) found.push_back(std::move(line));
  }
  return found;
}

std::vector<std::shared_ptr<line>> core::all_lines() {
  std::vector<std::shared_ptr<line>> found;
  const std::lock_guard guard{mutex_};
  for (const auto& [name, at] : lines_) {
    if (auto line = at->weak_from_this().lock()) found.push_back(std::move(line));
  }
  // In the order of their names: a simulation must not depend on how a hash table is laid out.
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return *a->name() < *b->name(); });
  return found;
}

void core::strip_prefix(lock_info& info) const {
  if (info.name.starts_with(settings_.prefix)) info.name.erase(0, settings_.prefix.size());
}

lock_info core::look(std::string_view name) {
  check_usable();
  lock_info info = engine().look(*full_name(name), give_up());
  strip_prefix(info);
  return info;
}

std::vector<lock_info> core::list(std::string_view prefix) {
  check_usable();
  auto found = engine().list(settings_.prefix + std::string{prefix}, give_up());
  for (lock_info& info : found) strip_prefix(info);
  return found;
}

bool core::break_lock(std::string_view name, const owner_id& owner) {
  check_usable();
  return engine().break_lock(*full_name(name), owner, give_up());
}

std::string core::server_id() {
  {
    const std::lock_guard guard{mutex_};
    if (!server_id_.empty()) return server_id_;
  }
  const auto cell = std::make_shared<const lock_name>(lock_name::reserved("server", "id"));
  std::string found = agree(*this, cell, keeper_->draw_owner().to_string());
  const std::lock_guard guard{mutex_};
  server_id_ = found;
  return found;
}

void core::remember_detached(const seam::claim& claim) {
  const time_point now = clock_.now();
  const std::lock_guard guard{mutex_};
  std::erase_if(detached_, [now](const auto& each) { return each.second < now; });
  detached_[claim.owner] = now + claim.lease;
}

void core::withdraw_unknown(const seam::grant& grant) {
  {
    // The late answer to an older ask of a hold that lives on as a receipt.
    const std::lock_guard guard{mutex_};
    if (detached_.contains(grant.owner)) return;
  }
  keeper_->withdraw_later({.name = grant.name, .owner = grant.owner, .lease = grant.lease});
}

void core::answered(seam::claim_key key, const seam::answer& answer) noexcept {
  const auto alive = weak_from_this().lock();
  if (!alive) return;
  for (const auto& line : lines_named(key.name)) {
    if (line->answered(key.owner, answer)) return;
  }
  // Given up while the ask was on its way: the withdrawal may have come before it.
  if (answer.result == seam::ask_result::granted) {
    withdraw_unknown(answer.granted);
  } else if (answer.result == seam::ask_result::in_line) {
    seam::grant place;
    place.name = std::make_shared<const lock_name>(key.name);
    place.owner = key.owner;
    place.lease = lease();
    withdraw_unknown(place);
  }
}

void core::granted(const seam::grant& grant) noexcept {
  const auto alive = weak_from_this().lock();
  if (!alive) return;
  for (const auto& line : lines_named(*grant.name)) {
    if (line->granted(grant)) return;
  }
  withdraw_unknown(grant);
}

void core::look_again(seam::claim_key key) noexcept {
  const auto alive = weak_from_this().lock();
  if (!alive) return;
  for (const auto& line : lines_named(key.name)) {
    if (line->look_again(key.owner)) return;
  }
}

void core::wanted(seam::claim_key key) noexcept {
  const auto alive = weak_from_this().lock();
  if (!alive) return;
  for (const auto& line : lines_named(key.name)) {
    if (line->wanted(key.owner)) return;
  }
}

void core::failed(seam::claim_key key, const error& why) noexcept {
  const auto alive = weak_from_this().lock();
  if (!alive) return;
  for (const auto& line : lines_named(key.name)) {
    if (line->failed(key.owner, why)) return;
  }
}

void core::suspended(const error& why) noexcept {
  if (settings_.observer) settings_.observer->suspended(why);
}

void core::resumed() noexcept {
  if (settings_.observer) settings_.observer->resumed();
}

void core::cell_changed(const lock_name& name) noexcept {
  const auto alive = weak_from_this().lock();
  if (alive) rouse(cell_watches_.changed(name));
}

void core::rouse(const std::vector<seam::park_word*>& words) noexcept {
  for (seam::park_word* word : words) engine().rouse(clock_, *word);
}

}  // namespace crosslock::inner
