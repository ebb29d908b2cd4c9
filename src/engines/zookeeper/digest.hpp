// How ZooKeeper's digest scheme writes a user in an ACL.
#pragma once

#include <string>
#include <string_view>

namespace crosslock::zookeeper {

/// `user:base64(sha1(user:password))`
std::string digest_id(std::string_view user, std::string_view password);

}  // namespace crosslock::zookeeper
