// A cell that is written under fences. Each write names the version it replaces; among writes of
// one fence the version decides, between two fences the fence.
#include <crosslock/fenced_register.hpp>

#include "cells/cells.hpp"

#include <atomic>
#include <utility>

namespace crosslock {
namespace {

fence exclusive_fence(const hold& held) {
  if (held.fence() == fence{}) throw error{errc::not_held, "this hold was moved from"};
  if (held.mode() == claim_mode::exclusive) return held.fence();
  throw error{errc::conflict, "the hold of '" + held.name().str() +
                                  "' is not exclusive: its fence does not tell who came later"};
}

}  // namespace

struct fenced_register::state {
  state(const client& locks, std::string_view name)
      : cell{locks.core(), locks.core()->full_name(name)},
        given_name{cell.home().given_name(cell.name())} {}

  void refuse_zero(fence token) const {
    if (token.value() > 0) return;
    throw error{errc::conflict, "'" + given_name->str() + "': " + token.to_string() +
                                    " is no fence: give that of an exclusive hold"};
  }

  const inner::cell_access cell;
  const seam::name_ref given_name;
  std::atomic<std::uint64_t> version{0};  // seen last: saves a request if it is right
};

fenced_register::fenced_register(const client& locks, std::string_view name)
    : state_{std::make_unique<state>(locks, name)} {}
fenced_register::fenced_register(const client& locks, lock_name name)
    : fenced_register{locks, name.view()} {}
fenced_register::~fenced_register() = default;

std::optional<std::string> fenced_register::open(const hold& held) {
  return open(exclusive_fence(held));
}

std::optional<std::string> fenced_register::open(crosslock::fence token) {
  state_->refuse_zero(token);
  auto opened = state_->cell.open(token);
  if (!opened) {
    state_->cell.tell_refused(token, state_->cell.read().highest);
    return std::nullopt;
  }
  state_->version.store(opened->version);
  return std::move(opened->value);
}

bool fenced_register::write(const hold& held, const std::string& value) {
  return write(exclusive_fence(held), value);
}

bool fenced_register::write(crosslock::fence token, const std::string& value) {
  state_->refuse_zero(token);
  const auto done = state_->cell.write(token, value, state_->version.load());
  state_->version.store(done.version);
  return done.accepted;
}

bool fenced_register::erase(const hold& held) { return erase(exclusive_fence(held)); }

bool fenced_register::erase(crosslock::fence token) {
  state_->refuse_zero(token);
  return state_->cell.erase(std::nullopt, token) == inner::cell_access::erased::gone;
}

fenced_register::reading fenced_register::read() const {
  seam::cell now = state_->cell.read();
  return {std::move(now.value), now.highest};
}

const lock_name& fenced_register::name() const noexcept { return *state_->given_name; }

}  // namespace crosslock
