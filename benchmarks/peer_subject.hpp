// A lock library of another language, in processes of its own.
#pragma once

#include "benchmarks/subject.hpp"

#include <memory>
#include <string>
#include <vector>

namespace crosslock::bench {

/// `command` starts the peer's program (benchmarks/peers/), which is given the name of the lock,
/// how many clients to be, and `own` (a name each) or `one`. It says `ready`, is told until when to
/// lock and unlock, and then tells of every round when it asked, was in, left, and was out: by
/// CLOCK_MONOTONIC, which all processes of a machine share. Takes part in settings only.
std::unique_ptr<subject> make_peer_subject(std::string name, std::vector<std::string> command);

}  // namespace crosslock::bench
