// The user's observer, with what it throws kept from the threads that call it.
#pragma once

#include <crosslock/observer.hpp>

#include <memory>

namespace crosslock::inner {

/// Stands before the user's observer from the moment a client is given it. Null for none.
std::shared_ptr<observer> guarded(std::shared_ptr<observer> users);

}  // namespace crosslock::inner
