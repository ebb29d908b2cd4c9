// The least that a lock on ZooKeeper must do: create a node that ends with the session, delete it.
#pragma once

#include "benchmarks/floors/zookeeper_link.hpp"
#include "benchmarks/subject.hpp"

#include <memory>
#include <string>
#include <utility>

namespace crosslock::bench {

/// Looks at nobody else: it is alone with its name.
class node_party final : public party {
 public:
  node_party(std::shared_ptr<shared_zookeeper_link> link, std::string parent)
      : link_{std::move(link)}, parent_{std::move(parent)}, prefix_{parent_ + "/lock-"} {}

  std::int64_t lock() override {
    if (!ready_) {
      link_->get().make_path(parent_);
      ready_ = true;
    }
    node_ = link_->get().create(prefix_);
    return 0;
  }
  void unlock() override { link_->get().remove(node_); }

 private:
  const std::shared_ptr<shared_zookeeper_link> link_;
  const std::string parent_;
  const std::string prefix_;
  bool ready_ = false;
  std::string node_;
};

/// They end with their session.
class held_nodes final : public held_locks {
 public:
  held_nodes(int port, const std::string& parent, std::size_t count) : link_{port} {
    link_.make_path(parent);
    for (std::size_t i = 0; i < count; ++i) link_.create(parent + "/lock-");
  }

  /// The library's pings are for the session, and nobody is told of them.
  std::uint64_t renewals() const override { return 0; }

 private:
  zookeeper_link link_;
};

}  // namespace crosslock::bench
