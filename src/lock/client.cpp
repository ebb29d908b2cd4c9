// The client is a handle; its work is done by the core.
#include <crosslock/client.hpp>

#include "cells/receipts.hpp"
#include "lock/acquirer.hpp"

#include <utility>

namespace crosslock {

inner::run_mark::run_mark(const hold& held) noexcept : held_{held.critical_section()} {
  held.critical_section()->note_thread(this_thread_token());
}

inner::run_mark::~run_mark() {
  if (const auto held = held_.lock()) held->forget_thread();
}

client::client(std::shared_ptr<inner::core> core) noexcept : core_{std::move(core)} {}

hold client::acquire(std::string_view name) const {
  return hold{inner::acquirer{*this, name}.acquire({}, time_point::max())};
}

std::optional<hold> client::try_acquire(std::string_view name) const {
  auto entered = inner::acquirer{*this, name}.acquire({}, inner::acquire_request::no_wait);
  return entered ? std::optional<hold>{std::move(entered)} : std::nullopt;
}

lock_info client::look(std::string_view name) const { return core_->look(name); }

std::vector<lock_info> client::list(std::string_view prefix) const { return core_->list(prefix); }

bool client::break_lock(std::string_view name, owner_id owner) const {
  return core_->break_lock(name, owner);
}

hold client::adopt(const receipt& given) const { return hold{inner::adopt(*core_, given)}; }

duration client::renew(const receipt& given, std::optional<duration> lease) const {
  return inner::renew(*core_, given, lease);
}

release_result client::release(const receipt& given) const { return inner::release(*core_, given); }

void client::close() const noexcept { core_->close(); }

std::string_view client::engine() const noexcept { return core_->about().name; }

duration client::lease() const noexcept { return core_->lease(); }

}  // namespace crosslock
