#include "engines/zookeeper/access.hpp"

#include "engines/zookeeper/digest.hpp"

#include <crosslock/owner_id.hpp>

namespace crosslock::zookeeper {

access::access(const std::string& user, const std::string& password, seam::clock& clock) {
  owner_id::bytes_type random{};
  clock.fill_random(random);
  const std::string own_user = "crosslock";
  const std::string own_password = owner_id{random}.to_string();
  own_credentials = own_user + ':' + own_password;
  own_scheme_ = "digest";
  own_id_ = digest_id(own_user, own_password);
  if (user.empty()) {
    users_scheme_ = "world";
    users_id_ = "anyone";
  } else {
    credentials = user + ':' + password;
    users_scheme_ = "digest";
    users_id_ = digest_id(user, password);
  }
  for_shared_[0] = {ZOO_PERM_ALL, {users_scheme_.data(), users_id_.data()}};
  for_own_node_[0] = {ZOO_PERM_READ, {users_scheme_.data(), users_id_.data()}};
  for_own_node_[1] = {ZOO_PERM_READ | ZOO_PERM_WRITE, {own_scheme_.data(), own_id_.data()}};
  shared = {static_cast<std::int32_t>(for_shared_.size()), for_shared_.data()};
  own_node = {static_cast<std::int32_t>(for_own_node_.size()), for_own_node_.data()};
}

}  // namespace crosslock::zookeeper
