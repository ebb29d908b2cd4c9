// The list of engines that were linked into this program.
#include "benchmarks/engines/engine.hpp"

#include <algorithm>

namespace crosslock::bench {
namespace {

std::vector<offer>& list() {
  static std::vector<offer> offers;
  return offers;
}

}  // namespace

offer::offer(std::string_view name_, maker make_, joiner join_)
    : name{name_}, make{make_}, join{join_} {
  list().push_back(*this);
}

std::vector<offer> offers() {
  auto sorted = list();
  std::ranges::sort(sorted, {}, &offer::name);
  return sorted;
}

}  // namespace crosslock::bench
