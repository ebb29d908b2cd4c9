#include "engines/zookeeper/access.hpp"

#include <crosslock/owner_id.hpp>

#include <cstdint>
#include <cstring>
#include <span>

namespace crosslock::zookeeper {

access::access(const std::string& user, const std::string& password, seam::clock& clock)
    : user_{user},
      own_user_{user == "crosslock" ? "crosslock-client" : "crosslock"},
      users_scheme_{user.empty() ? "world" : "digest"},
      users_id_{user.empty() ? "anyone" : ""} {
  owner_id::bytes_type random{};
  clock.fill_random(random);
  own_credentials = own_user_ + ':' + owner_id{random}.to_string();
  if (!user.empty()) credentials = user + ':' + password;
  write_down();
  for_whoever_we_are_[0] = {ZOO_PERM_ALL, {auth_.data(), nobody_.data()}};
  for_whoever_we_are_[1] = {ZOO_PERM_READ, {users_scheme_.data(), users_id_.data()}};
  whoever_we_are_ = {user_.empty() ? 2 : 1, for_whoever_we_are_.data()};
}

void access::write_down() {
  for_shared_[0] = {ZOO_PERM_ALL, {users_scheme_.data(), users_id_.data()}};
  for_own_node_[0] = {ZOO_PERM_READ, {users_scheme_.data(), users_id_.data()}};
  for_own_node_[1] = {ZOO_PERM_READ | ZOO_PERM_WRITE, {own_scheme_.data(), own_id_.data()}};
  shared_ = {1, for_shared_.data()};
  own_node_ = {2, for_own_node_.data()};
}

const ACL_vector& access::of(rights who) const noexcept {
  if (who == rights::shared) return users_id_.empty() ? whoever_we_are_ : shared_;
  return who == rights::session || own_id_.empty() ? whoever_we_are_ : own_node_;
}

void access::learn(const ACL_vector& written) {
  std::string users;
  std::string own;
  for (const ACL& one : std::span{written.data, static_cast<std::size_t>(written.count)}) {
    const std::string_view id{one.id.id};
    if (std::string_view{one.id.scheme} != own_scheme_) continue;
    if (id.starts_with(own_user_ + ':')) own = id;
    if (!user_.empty() && id.starts_with(user_ + ':')) users = id;
  }
  if (own.empty() || users.empty() != user_.empty()) return;
  own_id_ = own;
  if (!user_.empty()) users_id_ = users;
  write_down();
}

std::size_t access::bytes_of(rights who) const noexcept {
  const ACL_vector& all = of(who);
  std::size_t sum = sizeof all.count;
  for (const ACL& one : std::span{all.data, static_cast<std::size_t>(all.count)}) {
    sum += std::strlen(one.id.scheme) + std::strlen(one.id.id) + 3 * sizeof(std::int32_t);
  }
  return sum;
}

}  // namespace crosslock::zookeeper
