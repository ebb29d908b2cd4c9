// Losing one is losing all; releasing goes on whatever becomes of one.
#include "lock/joint.hpp"

#include "local/critical_section.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <utility>

namespace crosslock::inner {
namespace {

int badness(release_result result) noexcept {
  switch (result) {
    case release_result::released:
      return 0;
    case release_result::passed:
      return 1;
    case release_result::detached:
      return 2;
    case release_result::not_held:
      return 3;
    case release_result::unknown:
      return 4;
    case release_result::not_owner:
      return 5;
    case release_result::lost:
      return 6;
  }
  return 0;
}

}  // namespace

joint::joint(std::vector<std::size_t> indices, const std::stop_token& stop)
    : indices_{std::move(indices)},
      waits_{stop},
      ends_wait_{told_.get_token(), end_of_wait{waits_}} {
  // Before anything is held, so that adding and releasing need no memory for these.
  const std::size_t count =
      indices_.empty() ? 0 : *std::max_element(indices_.begin(), indices_.end());
  holds_.reserve(count + 1);
  results_found_.reserve(count + 1);
  results_.reserve(indices_.size());
}

void joint::hear_no_more() noexcept {
  for (const hold& each : holds_) each.critical_section()->tell_loss_to(std::nullopt);
}

joint::~joint() {
  hear_no_more();
  while (!holds_.empty()) holds_.pop_back();
}

void joint::add(hold held) {
  holds_.push_back(std::move(held));
  holds_.back().critical_section()->tell_loss_to(told_);
}

void joint::note_thread(std::uint64_t thread) noexcept {
  for (const hold& each : holds_) each.critical_section()->note_thread(thread);
}

std::vector<crosslock::fence> joint::fences() const {
  std::vector<crosslock::fence> found;
  found.reserve(indices_.size());
  for (const std::size_t index : indices_) found.push_back(holds_[index].fence());
  return found;
}

time_point joint::expires_at() const noexcept {
  time_point earliest = time_point::max();
  for (const hold& each : holds_) earliest = std::min(earliest, each.expires_at());
  return earliest;
}

std::stop_token joint::wanted() {
  if (released_) return {};
  if (!wanted_) wanted_.emplace();
  if (!all_tell_wanted_) {
    for (const hold& each : holds_) each.critical_section()->tell_wanted_to(*wanted_);
    all_tell_wanted_ = true;
  }
  return wanted_->get_token();
}

time_point joint::extend(const std::optional<duration>& lease) {
  check();
  for (hold& each : holds_) each.extend(lease);
  return expires_at();
}

loss_reason joint::lost_reason() const noexcept {
  for (const hold& each : holds_) {
    if (each.lost_reason() != loss_reason::none) return each.lost_reason();
  }
  return loss_reason::none;
}

bool joint::valid() const noexcept {
  return !released_ &&
         std::all_of(holds_.begin(), holds_.end(), [](const hold& each) { return each.valid(); });
}

void joint::check() const {
  if (released_) throw error{errc::not_held, "these locks are not held any more"};
  for (const hold& each : holds_) each.check();
}

release_result joint::release() noexcept {
  if (std::exchange(released_, true)) return release_result::not_held;
  hear_no_more();
  release_result worst = release_result::released;
  results_found_.assign(holds_.size(), release_result::not_held);
  for (std::size_t i = holds_.size(); i-- > 0;) {
    results_found_[i] = holds_[i].release();
    if (badness(results_found_[i]) > badness(worst)) worst = results_found_[i];
  }
  for (const std::size_t index : indices_) {
    if (index < results_found_.size()) results_.push_back(results_found_[index]);
  }
  return worst;
}

}  // namespace crosslock::inner
