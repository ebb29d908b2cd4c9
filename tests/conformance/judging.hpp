// How a history is judged in a case.
#pragma once

#include "checker/invariants.hpp"

namespace crosslock::conformance {

/// Fails the case if a promise was broken; the whole history then stays in a file that it names.
checker::verdict expect_kept(checker::history events, const checker::check_options& how);

}  // namespace crosslock::conformance
