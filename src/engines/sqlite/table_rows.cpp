// Who has a name alone, exclusively, is in the row of the name; everybody else has a row among the
// claims. Which of both it is is decided here and nowhere else.
#include "engines/sqlite/table_rows.hpp"

#include "engines/sqlite/schema.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crosslock::sqlite {
namespace {

/// So many of a line are read first: most requests need who is next, and whether somebody stands
/// behind. Whoever reads on reads twice as many each time.
constexpr std::size_t first_page = 2;
constexpr std::size_t largest_page = 64;

bool is_alone(const seam::name_state& at) {
  return at.holders.size() == 1 && at.holders.front().demand.mode == claim_mode::exclusive;
}

}  // namespace

bool table_rows::read(std::string_view name) {
  auto found = tables_.find(name);
  before_ = {};
  before_.read_to = 0;
  row_ = {};
  if (!found) return false;
  row_ = *std::move(found);
  before_.top = row_.top;
  before_.holders = tables_.holders(name, row_);
  const auto sharers = row_.alone ? 0 : static_cast<std::int64_t>(before_.holders.size());
  before_.unread = std::max<std::int64_t>(row_.claim_rows - sharers, 0);
  return true;
}

seam::name_state* table_rows::open(const seam::name_ref& name, bool add,
                                   const seam::seeker* whose) {
  if (!read(name->view())) {
    if (!add) return nullptr;
    before_.top = row_.top = tables_.fence_floor();
  }
  before_.name = name;
  if (whose != nullptr) read_place(name->view(), *whose);
  open_ = before_;
  return &open_;
}

void table_rows::read_place(std::string_view name, const seam::seeker& whose) {
  if (!whose.before.asked_before || before_.unread == 0) return;
  std::optional<waiter> found;
  if (whose.before.ticket != 0) found = tables_.waiter_with(name, whose.before.ticket);
  if (!found || found->owner != whose.owner) found = tables_.waiter_of(name, whose.owner);
  if (!found) return;
  before_.enter(*found);
  --before_.unread;
}

void table_rows::read_on(seam::name_state& at) {
  const auto page =
      static_cast<std::int64_t>(std::clamp(2 * at.line.size(), first_page, largest_page));
  const auto some = tables_.waiters_after(at.name->view(), at.read_to, page);
  for (const waiter& one : some) {
    at.read_to = one.ticket;
    // One who was read already may have left since.
    if (!before_.line.emplace(one.ticket, one).second) continue;
    at.enter(one);
    if (at.unread > 0) --at.unread;
  }
  // The count in the row may be wrong, if somebody has had a hand in the tables.
  if (static_cast<std::int64_t>(some.size()) < page) at.unread = 0;
}

std::optional<seam::name_state> table_rows::copy(std::string_view name) {
  if (!read(name)) return std::nullopt;
  for (const waiter& one : tables_.waiters_after(name, 0, seam::line_max)) before_.enter(one);
  before_.unread = 0;
  return before_;
}

void table_rows::save(seam::name_state& changed) {
  const std::string_view name = changed.name->view();
  const bool alone = is_alone(changed);
  save_sharers(name, changed, alone);
  save_line(name, changed);
  lock_row row{.top = changed.top, .claim_rows = changed.waiting(), .alone = {}};
  if (alone) {
    row.alone = changed.holders.front();
  } else {
    row.claim_rows += static_cast<std::int64_t>(changed.holders.size());
  }
  if (row != row_) tables_.put(name, row);
}

/// Holders leave anywhere and come at the end, so both lists are in the same order.
void table_rows::save_sharers(std::string_view name, seam::name_state& changed, bool alone) {
  auto old = before_.holders.begin();
  const auto old_end = row_.alone ? old : before_.holders.end();
  const auto remove = [&] { tables_.remove_sharer(name, (old++)->stored_as); };
  ticket_number last = old == old_end ? 0 : std::prev(old_end)->stored_as;
  if (!alone) {
    for (holder& one : changed.holders) {
      while (one.stored_as != 0 && old->stored_as != one.stored_as) remove();
      if (one.stored_as == 0) {
        one.stored_as = last = std::max(last + 1, now_.count());
        tables_.put_sharer(name, one);
      } else if (*old++ != one) {
        tables_.put_sharer(name, one);
      }
    }
  }
  while (old != old_end) remove();
}

void table_rows::save_line(std::string_view name, const seam::name_state& changed) {
  for (const auto& [ticket, one] : before_.line) {
    if (!changed.line.contains(ticket)) tables_.remove_waiter(name, ticket);
  }
  for (const auto& [ticket, one] : changed.line) {
    const auto old = before_.line.find(ticket);
    if (old == before_.line.end() || old->second != one) tables_.put_waiter(name, one);
  }
}

ticket_number table_rows::next_ticket(const seam::name_state& at) {
  const ticket_number last = row_.claim_rows > 0 ? tables_.last_ticket(at.name->view()) : 0;
  return std::max(last + 1, now_.count());
}

std::int64_t table_rows::before(const seam::name_state& at, ticket_number ticket,
                                std::int64_t most) {
  // Who has just come is the last of all.
  const bool newcomer = !before_.line.contains(ticket) && at.line.rbegin()->first == ticket;
  if (newcomer) return std::min(at.waiting() - 1, most);
  const bool all_read = at.unread == 0 || ticket <= at.read_to;
  const ticket_number end = all_read ? ticket : at.read_to + 1;
  const auto known = std::distance(at.line.begin(), at.line.lower_bound(end));
  if (all_read || known >= most) return known;
  return known + tables_.waiters_before(at.name->view(), ticket, most - known, at.read_to);
}

bool table_rows::dead(client_number client) {
  return surely_dead(tables_.client(client).process, self_);
}

bool table_rows::gone(client_number client) {
  return surely_gone(tables_.client(client).process, self_);
}

// Others still see who took it.
client_number table_rows::without_process(client_number client) {
  const ledger::person& known = tables_.client(client);
  if (known.who.empty()) return nobody;
  const bool unbound = known.process == process_id{};
  return unbound ? client : add_client(tables_.base(), {}, known.who, time_point{now_});
}

bool table_rows::renew_alone(const seam::renew_item& item) {
  return tables_.renew_alone(item.name->view(), item.owner, item.first.value(), item.lease, now_);
}

}  // namespace crosslock::sqlite
