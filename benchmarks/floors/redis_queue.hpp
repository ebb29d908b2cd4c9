// The least that a first-come lock on a Redis server can do: one token in a list. Whoever blocks on
// the list gets it in the order of coming; whoever has it pushes it back.
#pragma once

#include "benchmarks/floors/redis_link.hpp"
#include "benchmarks/subject.hpp"

#include <optional>
#include <string>
#include <utility>

namespace crosslock::bench {

/// No owner, no lease, no fence: a party that dies takes the token along.
class queue_party final : public party {
 public:
  queue_party(int port, std::string name) : port_{port}, list_{std::move(name)} {}

  std::int64_t lock() override {
    if (!link_) {
      link_.emplace(port_);
      // Of all parties, in whatever process, the first brings the token.
      const auto first = link_->ask({"SET", list_ + ":token", "made", "NX"});
      if (first->type == REDIS_REPLY_STATUS) link_->ask({"RPUSH", list_, "token"});
    }
    link_->ask({"BLPOP", list_, "0"});
    return 0;
  }
  void unlock() override { link_->ask({"RPUSH", list_, "token"}); }

 private:
  const int port_;
  const std::string list_;
  std::optional<redis_link> link_;
};

}  // namespace crosslock::bench
