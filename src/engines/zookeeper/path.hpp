// Where in ZooKeeper's tree a name lies.
#pragma once

#include <crosslock/lock_name.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::zookeeper {

/// `<root>/stock/sku-42` for `stock/sku-42`: where Curator and kazoo have it as well. Two names
/// never meet, and no name is a claim in the line of another one. `root`: "" or "/chroot".
std::string path_of(std::string_view root, const lock_name& name);

/// The name whose path this is; empty for anything that path_of never gives.
std::optional<std::string> name_at(std::string_view root, std::string_view path);

/// The node of the cell with that name: `<root>/crosslock:/cells/<the name as one segment>`.
std::string cell_path(std::string_view root, const lock_name& name);

/// The other way round; empty for any other path.
std::optional<lock_name> cell_at(std::string_view root, std::string_view path);

/// The path and everything above it, the highest first: "/a/b" gives "/a", "/a/b".
std::vector<std::string> ancestors(std::string_view path);

}  // namespace crosslock::zookeeper
