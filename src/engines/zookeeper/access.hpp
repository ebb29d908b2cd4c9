// As whom we speak to ZooKeeper, and who may do what with the nodes that we make.
#pragma once

#include "engine/clock.hpp"
#include "engines/zookeeper/protocol.hpp"

#include <zookeeper/zookeeper.h>

#include <array>
#include <string>

namespace crosslock::zookeeper {

/// Every client has a secret of its own besides the user of its URL. Only who knows it may write
/// to the client's claims, so that who watches one knows by whose hand it has changed.
struct access {
  access(const std::string& user, const std::string& password, seam::clock& clock);
  access(const access&) = delete;
  access& operator=(const access&) = delete;

  const ACL_vector& of(rights who) const noexcept {
    return who == rights::shared ? shared : own_node;
  }

  std::string credentials;      ///< `user:password`; empty: nobody in particular
  std::string own_credentials;  ///< the client's own

  ACL_vector shared{};
  ACL_vector own_node{};

 private:
  std::string users_scheme_;
  std::string users_id_;
  std::string own_scheme_;
  std::string own_id_;
  std::array<ACL, 1> for_shared_{};
  std::array<ACL, 2> for_own_node_{};
};

}  // namespace crosslock::zookeeper
