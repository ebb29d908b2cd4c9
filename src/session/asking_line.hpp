// Mutexes and read-write locks, first come first served.
#pragma once

#include "session/asking.hpp"
#include "session/watch_rule.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace crosslock::session {

/// A longer line would not fit into one answer of the server, for everybody who lists it.
inline constexpr std::size_t line_longest = 8192;

class asking_line : public asking {
 public:
  using asking::asking;

 protected:
  /// Where the claim stands, by a listing of its line; an engine may have more to look at.
  virtual void judge(response& listed);
  void make() override;
  void find() override;

 private:
  void look() override;

  void made(response& listed);
  void found(response& listed);
  void list();
  bool refuse_upgrade(const watch_decision& seen);
  void watch(std::string_view whom, const watch_decision& seen);

  response made_;
};

}  // namespace crosslock::session
