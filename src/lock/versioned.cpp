// A cell without fences.
#include <crosslock/versioned.hpp>

#include "cells/cells.hpp"

#include <atomic>
#include <utility>

namespace crosslock {

struct versioned::state {
  state(const client& locks, std::string_view name)
      : cell{locks.core(), locks.core()->full_name(name)},
        given_name{cell.home().given_name(cell.name())} {}

  bool erase(std::optional<std::uint64_t> expected) const {
    using erased = inner::cell_access::erased;
    const erased done = cell.erase(expected);
    if (done == erased::shut_out) refuse_fenced();
    return done == erased::gone;
  }

  [[noreturn]] void refuse_fenced() const {
    throw error{errc::conflict,
                "'" + given_name->str() + "' is written under fences: use fenced_register"};
  }

  const inner::cell_access cell;
  const seam::name_ref given_name;
  std::atomic<std::uint64_t> retries{0};
};

versioned::versioned(const client& locks, std::string_view name)
    : state_{std::make_unique<state>(locks, name)} {}
versioned::versioned(const client& locks, lock_name name) : versioned{locks, name.view()} {}
versioned::~versioned() = default;

versioned::reading versioned::read() const {
  seam::cell now = state_->cell.read();
  return {std::move(now.value), now.version};
}

std::optional<std::uint64_t> versioned::compare_and_set(std::uint64_t expected,
                                                        const std::string& value) {
  using result = seam::swap_answer::result;
  const auto tried = state_->cell.swap(expected, value);
  if (tried.answer.outcome == result::swapped) return tried.answer.now.version;
  if (tried.doubt) inner::throw_in_doubt(name(), *tried.doubt);
  if (tried.answer.outcome == result::changed) return std::nullopt;
  state_->refuse_fenced();
}

void versioned::erase() { state_->erase(std::nullopt); }

bool versioned::erase(std::uint64_t expected) { return state_->erase(expected); }

std::optional<versioned::written> versioned::update_with(const change& fn, const update_how& how) {
  const inner::cell_access& cell = state_->cell;
  inner::patience limit{.end = time_point::max(), .stop = how.stop};
  if (how.wait) limit = inner::patience_of(cell.home(), *how.wait, how.stop);
  const auto decide = [&](const seam::cell& now, const error* doubt) {
    if (doubt) inner::throw_in_doubt(name(), *doubt);
    return fn(now.value);
  };
  if (limit.stop.stop_requested() || how.tries == 0) return std::nullopt;
  auto done = cell.alter(decide, limit, std::nullopt, how.tries);
  state_->retries.fetch_add(done.retries, std::memory_order_relaxed);
  if (done.ended != inner::cell_access::altered::how::written) return std::nullopt;
  return written{std::move(done.now.value), done.now.version, done.retries};
}

std::uint64_t versioned::retries() const noexcept {
  return state_->retries.load(std::memory_order_relaxed);
}

const lock_name& versioned::name() const noexcept { return *state_->given_name; }

}  // namespace crosslock
