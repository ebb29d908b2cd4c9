// How the verbs run a script: shared by the two files of the engine.
#pragma once

#include "engines/redis/engine.hpp"

#include <utility>

namespace crosslock::redis {

template <class Use>
auto engine::run(script_call what, std::string_view name, time_point give_up, Use use) {
  const auto answers = call(what, give_up);
  if (answers[0].failed()) refuse(answers[0].failure(), name);
  return use(answers[0]);
}

}  // namespace crosslock::redis
