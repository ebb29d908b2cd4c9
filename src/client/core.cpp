// Opening and closing a client, its table of lines, and the way of the engine's reports to them.
#include "client/core.hpp"

#include <exception>
#include <utility>

namespace crosslock::inner {

core::core(opening_plan plan, seam::clock& clock) : client_context{plan.settings, clock} {
  connect(open_engine(plan, *this, clock));
  try {
    make_request({}, time_point::max());  // a lease that the engine does not grant is told now
  } catch (...) {
    disconnect();
    throw;
  }
}

std::shared_ptr<core> core::make(opening_plan plan, seam::clock& clock) {
  std::shared_ptr<core> made{
      new core{std::move(plan), clock}, [](core* ended) {
        if (ended->inherited_by_fork() || !ended->keeper().on_own_thread()) {
          delete ended;
          return;
        }
        // An event brought the last owner to one of the keeper's threads, which must go on to
        // its end before it can be joined.
        try {
          ended->clock().start("crosslock-end", [ended] { delete ended; })->detach();
        } catch (const std::exception&) {
          // No thread is to be had, and this one cannot do it: nobody uses it, it stays.
        }
      }};
  made->owned_.store(true, std::memory_order_release);
  return made;
}

std::shared_ptr<client_context> core::alive() noexcept {
  if (!owned_.load(std::memory_order_acquire)) return nullptr;
  return weak_from_this().lock();
}

core::~core() {
  if (inherited_by_fork()) {
    abandon();
  } else {
    close();
    disconnect();
  }
}

void core::close() noexcept {
  if (inherited_by_fork() || !begin_closing()) return;
  rouse_all(cell_watches_.all_changed());
  std::vector<seam::parting_ref> given_back;
  std::shared_ptr<line> last;
  line_key at;
  for (known_line each = next_line(at, false); each.at; each = next_line(at, false)) {
    each.at->close(given_back);
    at = {each.at->name()->view(), each.number};
    last = std::move(each.at);  // the name goes with it
  }
  if (!given_back.empty()) engine().post_release(given_back, give_up());
  finish_closing();
}

seam::name_ref core::full_name(std::string_view name) const {
  if (settings().prefix.empty()) return std::make_shared<const lock_name>(name);
  static_cast<void>(lock_name{name});  // the prefix does not make a bad name good
  return std::make_shared<const lock_name>(settings().prefix + std::string{name});
}

seam::name_ref core::given_name(const seam::name_ref& full) const {
  const std::string_view text = full->view();
  const bool ours = text.starts_with(settings().prefix) && text.size() > settings().prefix.size();
  if (settings().prefix.empty() || !ours) return full;
  return std::make_shared<const lock_name>(text.substr(settings().prefix.size()));
}

acquire_request core::make_request(const acquire_how& how, time_point end,
                                   seam::demand demand) const {
  const duration lease = how.lease.value_or(this->lease());
  seam::refuse_lease(about(), lease);
  return {.demand = demand,
          .lease = lease,
          .fixed = how.lease.has_value(),
          .end = end,
          .stop = how.stop,
          .executor = {}};
}

time_point core::end_of(duration wait) const {
  if (wait <= duration::zero()) return acquire_request::no_wait;
  const time_point now = clock().now();
  return wait < time_point::max() - now ? now + wait : time_point::max();
}

std::shared_ptr<line> core::add_line(const seam::name_ref& name, bool common) {
  // close() sees every line that is added before.
  if (!open_for_calls()) throw error{errc::closed, "the client was closed"};
  auto made = std::make_shared<line>(*this, name, given_name(name), common);
  lines_.emplace(line_key{made->name()->view(), ++line_numbers_}, made.get());
  return made;
}

core::known_line core::next_line(const line_key& behind, bool of_that_name) {
  const seam::lock_guard guard{mutex_};
  for (auto at = lines_.upper_bound(behind); at != lines_.end(); ++at) {
    if (of_that_name && at->first.name != behind.name) break;
    if (auto found = at->second->weak_from_this().lock()) {
      return {std::static_pointer_cast<line>(std::move(found)), at->first.number};
    }
  }
  return {};
}

template <class Visit>
bool core::visit_lines(const lock_name& name, const Visit& visit) {
  line_key at{name.view(), 0};
  for (known_line each = next_line(at, true); each.at; each = next_line(at, true)) {
    if (visit(*each.at)) return true;
    at.number = each.number;
  }
  return false;
}

void core::refuse_own_thread(const lock_name& name, const acquire_request& request) {
  visit_lines(name, [&](line& each) {
    each.claims().refuse_own_thread(request);
    return false;
  });
}

std::shared_ptr<line> core::line_for(const seam::name_ref& name) {
  const seam::lock_guard guard{mutex_};
  for (auto at = lines_.lower_bound({name->view(), 0});
       at != lines_.end() && at->first.name == name->view(); ++at) {
    if (!at->second->common()) continue;
    if (auto found = at->second->weak_from_this().lock()) {
      return std::static_pointer_cast<line>(found);
    }
  }
  return add_line(name, true);
}

std::shared_ptr<line> core::own_line(const seam::name_ref& name) {
  check_usable();  // before the mutex, which may be locked for ever in a forked child
  const seam::lock_guard guard{mutex_};
  return add_line(name, false);
}

void core::forget(const line& line) noexcept {
  if (inherited_by_fork()) return;  // the mutex may be locked for ever in this copy
  const seam::lock_guard guard{mutex_};
  for (auto at = lines_.lower_bound({line.name()->view(), 0}); at != lines_.end(); ++at) {
    if (at->second == &line) {
      lines_.erase(at);
      return;
    }
  }
}

void core::strip_prefix(lock_info& info) const {
  if (info.name.starts_with(settings().prefix)) info.name.erase(0, settings().prefix.size());
}

lock_info core::look(std::string_view name) {
  check_usable();
  lock_info info = engine().look(*full_name(name), give_up());
  strip_prefix(info);
  return info;
}

std::vector<lock_info> core::list(std::string_view prefix) {
  check_usable();
  constexpr std::string_view reserved = "crosslock:{";  // lock_name.hpp
  auto found = engine().list(settings().prefix + std::string{prefix}, give_up());
  if (!prefix.starts_with(reserved)) {
    std::erase_if(found, [&](const lock_info& info) { return info.name.starts_with(reserved); });
  }
  for (lock_info& info : found) strip_prefix(info);
  return found;
}

bool core::break_lock(std::string_view name, const owner_id& owner) {
  check_usable();
  return engine().break_lock(*full_name(name), owner, give_up());
}

std::string core::known_server_id() {
  const seam::lock_guard guard{mutex_};
  return server_id_;
}

void core::note_server_id(std::string id) {
  const seam::lock_guard guard{mutex_};
  server_id_ = std::move(id);
}

void core::remember_detached(const seam::claim& claim) {
  const time_point now = clock().now();
  const seam::lock_guard guard{mutex_};
  std::erase_if(detached_, [now](const auto& each) { return each.second < now; });
  detached_[claim.owner] = now + claim.lease;
}

void core::withdraw_unknown(const seam::claim& claim) {
  {
    // The late answer to an older ask of a hold that lives on as a receipt.
    const seam::lock_guard guard{mutex_};
    if (detached_.contains(claim.owner)) return;
  }
  keeper().withdraw_later(claim);
}

void core::answered(const seam::claim& claim, const seam::answer& answer) noexcept {
  const auto self = alive();
  if (!self) return;
  if (visit_lines(*claim.name, [&](line& each) { return each.answered(claim.owner, answer); }))
    return;
  // Given up while the ask was on its way: the withdrawal may have come before it.
  if (answer.result != seam::ask_result::busy) withdraw_unknown(claim);
}

void core::granted(const seam::grant& grant) noexcept {
  const auto self = alive();
  if (!self) return;
  if (visit_lines(*grant.name, [&](line& each) { return each.granted(grant); })) return;
  withdraw_unknown({.name = grant.name, .owner = grant.owner, .lease = grant.lease});
}

void core::look_again(seam::claim_key key) noexcept {
  const auto self = alive();
  if (!self) return;
  visit_lines(key.name, [&](line& each) { return each.look_again(key.owner); });
}

void core::wanted(seam::claim_key key) noexcept {
  const auto self = alive();
  if (!self) return;
  visit_lines(key.name, [&](line& each) { return each.wanted(key.owner); });
}

void core::failed(seam::claim_key key, const error& why) noexcept {
  const auto self = alive();
  if (!self) return;
  if (visit_lines(key.name, [&](line& each) { return each.failed(key.owner, why); })) return;
  // Given up while the ask was on its way, which may have come behind the withdrawal.
  if (why.outcome_unknown()) {
    withdraw_unknown({.name = std::make_shared<const lock_name>(key.name),
                      .owner = key.owner,
                      .lease = lease()});
  }
}

void core::session_cut() noexcept {
  const auto self = alive();
  if (self) keeper().session_cut();
}

void core::suspended(const error& why) noexcept {
  if (settings().observer) settings().observer->suspended(why);
}

void core::resumed() noexcept {
  if (settings().observer) settings().observer->resumed();
}

void core::cell_changed(const lock_name& name) noexcept {
  const auto self = alive();
  if (!self) return;
  // Who comes from now on reads what is written already.
  const std::uint64_t last = cell_watches_.last_number();
  std::uint64_t number = 0;
  while (seam::park_word* const word = cell_watches_.change_next(name, number, last)) rouse(*word);
}

void core::rouse_all(const std::vector<seam::park_word*>& words) noexcept {
  for (seam::park_word* word : words) rouse(*word);
}

}  // namespace crosslock::inner
