#include "session/tree.hpp"

#include <utility>

namespace crosslock::session {

std::string below(std::string_view path, std::string_view child) {
  std::string whole;
  whole.reserve(path.size() + 1 + child.size());
  return whole.append(path).append(1, '/').append(child);
}

request create(std::string path, std::string data, node_life life, rights who) {
  return {.what = request::kind::create,
          .path = std::move(path),
          .data = std::move(data),
          .life = life,
          .who = who};
}
request erase(std::string path) {
  return {.what = request::kind::erase, .path = std::move(path), .data = {}};
}
request read(std::string path, bool watch) {
  return {.what = request::kind::read, .path = std::move(path), .data = {}, .watch = watch};
}
request exists(std::string path, bool watch) {
  return {.what = request::kind::exists, .path = std::move(path), .data = {}, .watch = watch};
}
request write(std::string path, std::string data, std::int32_t version) {
  return {.what = request::kind::write,
          .path = std::move(path),
          .data = std::move(data),
          .version = version};
}
request children(std::string path, bool watch) {
  return {.what = request::kind::children, .path = std::move(path), .data = {}, .watch = watch};
}
request sync(std::string path) {
  return {.what = request::kind::sync, .path = std::move(path), .data = {}};
}
request transaction(std::vector<change> changes) {
  return {
      .what = request::kind::transaction, .path = {}, .data = {}, .changes = std::move(changes)};
}

name_list::name_list(std::span<const char* const> names) {
  std::size_t length = 0;
  views_.reserve(names.size());
  for (const char* const one : names) length += views_.emplace_back(one).size();
  std::string text;
  text.reserve(length);
  for (const std::string_view one : views_) text += one;
  text_ = std::make_shared<const std::string>(std::move(text));
  std::string_view left = *text_;
  for (std::string_view& one : views_) {
    one = left.substr(0, one.size());
    left.remove_prefix(one.size());
  }
}

}  // namespace crosslock::session
