// Sorting, merging, and taking one after another on the calling thread.
#include "lock/lock_set.hpp"

#include "cells/agreement.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace crosslock::inner {
namespace {

/// An element on its way into the order.
struct candidate {
  lock_set::part part;
  std::size_t given;
  std::string server{};  // asked for only where name and kind of engine leave it open

  std::tuple<std::string_view, std::string_view> name_and_kind() const {
    return {part.lock.full_name().view(), part.lock.core().about().name};
  }
};

candidate make_candidate(const multi_lock::element& element, std::size_t given) {
  candidate made{{acquirer{element.locks, element.name}, element.mode}, given};
  const seam::traits& about = made.part.lock.core().about();
  if (element.mode == claim_mode::permit) {
    throw error{errc::unsupported, "a multi_lock holds names exclusively or shared: '" +
                                       element.name + "' is asked for as permits"};
  }
  if (element.mode == claim_mode::shared && !about.shared) {
    throw error{
        errc::unsupported,
        std::string{about.name} + " has no shared locks: take '" + element.name + "' exclusively",
        {.engine = std::string{about.name}}};
  }
  return made;
}

/// Those of one name and kind: are they on the same server?
void ask_for_servers(std::span<candidate> alike) {
  const auto one_client = [&](const candidate& each) {
    return &each.part.lock.core() == &alike.front().part.lock.core();
  };
  if (std::all_of(alike.begin(), alike.end(), one_client)) return;
  for (candidate& each : alike) each.server = server_id(each.part.lock.core());
  std::stable_sort(alike.begin(), alike.end(),
                   [](const candidate& a, const candidate& b) { return a.server < b.server; });
}

std::vector<candidate> in_order(std::span<const multi_lock::element> elements) {
  std::vector<candidate> found;
  found.reserve(elements.size());
  for (const multi_lock::element& each : elements) {
    found.push_back(make_candidate(each, found.size()));
  }
  std::stable_sort(found.begin(), found.end(), [](const candidate& a, const candidate& b) {
    return a.name_and_kind() < b.name_and_kind();
  });
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if(first, found.end(), [&](const candidate& each) {
      return each.name_and_kind() != first->name_and_kind();
    });
    ask_for_servers({first, last});
    first = last;
  }
  return found;
}

}  // namespace

lock_set::lock_set(std::span<const multi_lock::element> elements) {
  if (elements.empty()) {
    throw error{errc::invalid_name, "a multi_lock of no names: give at least one"};
  }
  indices_.resize(elements.size());
  const candidate* before = nullptr;
  const std::vector<candidate> sorted = in_order(elements);
  for (const candidate& each : sorted) {
    const bool again =
        before && before->name_and_kind() == each.name_and_kind() && before->server == each.server;
    if (!again) {
      parts_.push_back(each.part);
    } else if (each.part.mode == claim_mode::exclusive) {
      parts_.back().mode = claim_mode::exclusive;
    }
    indices_[each.given] = parts_.size() - 1;
    before = &each;
  }
}

std::vector<time_point> lock_set::ends_of(const std::optional<duration>& wait) const {
  std::vector<time_point> ends;
  ends.reserve(parts_.size());
  for (const part& each : parts_) ends.push_back(each.lock.end_of_wait(wait));
  return ends;
}

std::unique_ptr<joint> lock_set::acquire(const acquire_how& how,
                                         const std::optional<duration>& wait) const {
  const std::vector<time_point> ends = ends_of(wait);
  auto taken = std::make_unique<joint>(indices_, how.stop);
  const bool endless = !wait && !how.stop.stop_possible();
  const acquire_how each_how{.lease = how.lease, .stop = taken->waits()};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    // Only a loss of its own can end a wait that has neither time nor stop.
    auto entered = parts_[i].lock.acquire(each_how, ends[i], {.mode = parts_[i].mode}, endless);
    const bool held = entered != nullptr;
    if (held) taken->add(hold{std::move(entered)});
    taken->check();  // one that was lost meanwhile also ends the wait for the next
    if (!held) return nullptr;
  }
  return taken;
}

}  // namespace crosslock::inner
