// The client is a handle; its work is done by the core.
#include <crosslock/client.hpp>

#include "lock/acquirer.hpp"

#include <utility>

namespace crosslock {

client::client(std::shared_ptr<inner::core> core) noexcept : core_{std::move(core)} {}

hold client::acquire(std::string_view name) const {
  return hold{inner::acquirer{*this, name}.acquire({}, time_point::max())};
}

std::optional<hold> client::try_acquire(std::string_view name) const {
  auto section = inner::acquirer{*this, name}.acquire({}, inner::wish::no_wait);
  return section ? std::optional<hold>{std::move(section)} : std::nullopt;
}

lock_info client::look(std::string_view name) const { return core_->look(name); }

std::vector<lock_info> client::list(std::string_view prefix) const { return core_->list(prefix); }

bool client::break_lock(std::string_view name, owner_id owner) const {
  return core_->break_lock(name, owner);
}

hold client::adopt(const receipt& paper) const { return hold{core_->adopt(paper)}; }

duration client::renew(const receipt& paper, std::optional<duration> lease) const {
  return core_->renew(paper, lease);
}

release_result client::release(const receipt& paper) const { return core_->release(paper); }

void client::close() const noexcept { core_->close(); }

std::string_view client::engine() const noexcept { return core_->engine().about().name; }

duration client::lease() const noexcept { return core_->lease(); }

}  // namespace crosslock
