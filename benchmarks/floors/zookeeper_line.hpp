// The lock of ZooKeeper's own documentation, by the bare client: stand in line with a node, list
// the line, watch the one before, and list again when that is gone. Five requests a handover.
#pragma once

#include "benchmarks/floors/zookeeper_link.hpp"
#include "benchmarks/subject.hpp"

#include <algorithm>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <utility>

namespace crosslock::bench {

/// Has a session of its own, from its first use.
class line_party final : public party {
 public:
  line_party(int port, std::string parent) : port_{port}, parent_{std::move(parent)} {}

  std::int64_t lock() override {
    if (!link_) {
      link_.emplace(port_);
      link_->make_path(parent_);
    }
    node_ = link_->create(parent_ + "/lock-");
    for (;;) {
      const std::string before = next_in_front();
      if (before.empty()) return 0;
      if (link_->watch(parent_ + "/" + before, changed_)) changed_.acquire();
    }
  }
  void unlock() override { link_->remove(node_); }

 private:
  /// Empty when nobody is.
  std::string next_in_front() {
    // All have the same prefix and as many digits: the order of their texts is that of the line.
    auto line = link_->children(parent_);
    std::ranges::sort(line);
    const auto mine = std::ranges::find(line, node_.substr(parent_.size() + 1));
    if (mine == line.end()) throw std::runtime_error{"the floor's node is gone"};
    return mine == line.begin() ? std::string{} : *std::prev(mine);
  }

  const int port_;
  const std::string parent_;
  std::binary_semaphore changed_{0};
  std::string node_;
  std::optional<zookeeper_link> link_;  // the last: its end calls watchers
};

}  // namespace crosslock::bench
