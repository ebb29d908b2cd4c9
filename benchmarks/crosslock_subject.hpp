// crosslock as its users have it: public headers only.
#pragma once

#include "benchmarks/subject.hpp"

#include <memory>
#include <string>

namespace crosslock::bench {

std::unique_ptr<subject> make_crosslock_subject(std::string url, std::string name = "crosslock");

}  // namespace crosslock::bench
