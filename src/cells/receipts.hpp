// What can be done with a receipt.
#pragma once

#include "client/core.hpp"

#include <crosslock/receipt.hpp>

#include <memory>
#include <optional>

namespace crosslock::inner {

// All three throw `conflict` when the receipt is of another engine. Where its hold is no longer
// there two of them throw `lost`; releasing says so.
std::shared_ptr<critical_section> adopt(core& home, const receipt& given);
duration renew(core& home, const receipt& given, std::optional<duration> lease);
release_result release(core& home, const receipt& given);

}  // namespace crosslock::inner
