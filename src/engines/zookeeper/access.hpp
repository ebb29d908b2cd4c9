// As whom we speak to ZooKeeper, and who may do what with the nodes that we make.
#pragma once

#include "engine/clock.hpp"
#include "engines/zookeeper/protocol.hpp"

#include <zookeeper/zookeeper.h>

#include <array>
#include <cstddef>
#include <string>

namespace crosslock::zookeeper {

/// Every client has a secret of its own besides the user of its URL. Only who knows it may write
/// to the client's claims, so that who watches one knows by whose hand it has changed.
///
/// In rights a user stands with a hash of the password, by an algorithm that the servers are
/// configured with. So the first node is given to "whoever we are", and the server writes down who
/// that is, for us to learn. One thread at a time.
struct access {
  access(const std::string& user, const std::string& password, seam::clock& clock);
  access(const access&) = delete;
  access& operator=(const access&) = delete;

  /// Until it is known how the server writes us: whoever we are.
  const ACL_vector& of(rights who) const noexcept;
  /// The rights of a node that was made for rights::session; ignored if they say nothing of us.
  void learn(const ACL_vector& written);
  bool known() const noexcept { return !own_id_.empty(); }
  /// What those take of a message.
  std::size_t bytes_of(rights who) const noexcept;

  std::string credentials;      ///< `user:password`; empty: nobody in particular
  std::string own_credentials;  ///< the client's own

 private:
  void write_down();

  const std::string user_;
  const std::string own_user_;  ///< another than the user
  std::string users_scheme_;
  std::string users_id_;
  std::string own_scheme_ = "digest";
  std::string own_id_;
  std::string auth_ = "auth";
  std::string nobody_;
  std::array<ACL, 1> for_shared_{};
  std::array<ACL, 2> for_own_node_{};
  std::array<ACL, 2> for_whoever_we_are_{};
  ACL_vector shared_{};
  ACL_vector own_node_{};
  ACL_vector whoever_we_are_{};
};

}  // namespace crosslock::zookeeper
