// Names come by the first claim, and are forgotten when there are many that nobody uses.
#include "engines/memory/map_rows.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace crosslock::memory {

seam::name_state* map_rows::open(const seam::name_ref& name, bool add, const seam::seeker*) {
  const auto known = kept_.names.find(name->view());
  if (known != kept_.names.end()) return &known->second;
  if (!add) return nullptr;
  if (kept_.names.size() >= std::max(names_kept_, forget_at_)) forget_idle_names();
  seam::name_state& fresh = kept_.names[name->str()];
  fresh.name = name;
  fresh.top = kept_.floor;
  return &fresh;
}

/// Keeps the table bounded: what is in use, and as much again. Fences go on rising because a
/// forgotten name comes back with the highest fence that any forgotten name had.
void map_rows::forget_idle_names() {
  const auto in_use = [this](const seam::name_state& name) {
    const auto lives = [this](const auto& entry) { return entry.second.place_ends > now_; };
    const auto holds = [this](const seam::holder& one) { return one.ends > now_; };
    return std::ranges::any_of(name.holders, holds) || std::ranges::any_of(name.line, lives);
  };
  for (auto it = kept_.names.begin(); it != kept_.names.end();) {
    if (in_use(it->second)) {
      ++it;
    } else {
      kept_.floor = std::max(kept_.floor, it->second.top);
      it = kept_.names.erase(it);
    }
  }
  forget_at_ = 2 * kept_.names.size();
}

std::optional<seam::name_state> map_rows::copy(std::string_view name) {
  const auto known = kept_.names.find(name);
  if (known == kept_.names.end()) return std::nullopt;
  return known->second;
}

std::vector<std::string> map_rows::names_from(std::string_view prefix) {
  std::vector<std::string> found;
  for (auto it = kept_.names.lower_bound(prefix);
       it != kept_.names.end() && it->first.starts_with(prefix); ++it) {
    if (!it->second.idle()) found.push_back(it->first);
  }
  return found;
}

// A hybrid like the fence: tickets rise even when a rollback takes the counter back.
seam::ticket_number map_rows::next_ticket(const seam::name_state&) {
  kept_.last_ticket = std::max<seam::ticket_number>(kept_.last_ticket + 1, now_.count());
  return kept_.last_ticket;
}

std::string map_rows::describe(seam::client_number, const seam::who_ref& who) {
  return who ? *who : std::string{};
}

seam::cell_row map_rows::find_cell(std::string_view name) {
  const auto known = kept_.cells.find(name);
  return known == kept_.cells.end() ? seam::cell_row{} : known->second;
}

void map_rows::put_cell(std::string_view name, const seam::cell_row& row) {
  kept_.cells.insert_or_assign(std::string{name}, row);
}

void map_rows::remove_cell(std::string_view name, std::uint64_t version) {
  kept_.floor = std::max(kept_.floor, static_cast<std::int64_t>(version));
  const auto known = kept_.cells.find(name);
  if (known != kept_.cells.end()) kept_.cells.erase(known);
}

}  // namespace crosslock::memory
