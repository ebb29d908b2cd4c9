// libFuzzer target for what others put into ZooKeeper's tree: names of nodes and whole paths. Each
// is understood in one way, or not at all. Anything else aborts.
#include "engines/zookeeper/node_name.hpp"
#include "engines/zookeeper/path.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace crosslock;

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    found.emplace_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return found;
}

void try_path(std::string_view path) {
  const auto name = zookeeper::name_at("", path);
  if (!name) return;
  require(zookeeper::path_of("", lock_name::stored(*name)) == path, "a path has one name");
  const std::string_view last = path.substr(path.rfind('/') + 1);
  require(!zookeeper::read_node(last), "a name is no claim in another one's line");
}

void try_node(std::string_view child) {
  const auto found = zookeeper::read_node(child);
  if (!found) return;
  require(found->name == child, "a node keeps its name");
  const std::string number = zookeeper::sequenced("", found->sequence);
  require(child.ends_with(number), "a sequence has one spelling");
  require(found->permits >= 1, "nobody waits for nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const std::vector<std::string_view> children = lines(text);
  std::size_t claims = 0;
  for (const std::string_view child : children) {
    try_path(child);
    try_node(child);
    const auto found = zookeeper::read_node(child);
    if (found && found->kind != zookeeper::node_kind::lease) ++claims;
  }
  require(zookeeper::read_line(children).size() == claims, "every claim stands in the line");
  return 0;
}
