// Percent-encoding, segment by segment. A segment that would mean something else where it stands
// has its first byte encoded as well, which no other segment does; so each path has one name.
#include "engines/zookeeper/path.hpp"

#include "engines/zookeeper/node_name.hpp"

#include <crosslock/error.hpp>

#include <cstddef>
#include <cstdint>

namespace crosslock::zookeeper {
namespace {

constexpr std::string_view plain_bytes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
constexpr std::string_view hex_digits = "0123456789ABCDEF";
// A percent sign of a name is always followed by two digits.
constexpr std::string_view empty_segment = "%";

void add_encoded(std::string& out, char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  out += {'%', hex_digits[byte >> 4], hex_digits[byte & 15]};
}

std::string encoded(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    if (plain_bytes.find(c) != std::string_view::npos) {
      out += c;
    } else {
      add_encoded(out, c);
    }
  }
  return out;
}

std::string with_first_byte_encoded(std::string_view plain) {
  std::string out;
  add_encoded(out, plain.front());
  return out.append(plain.substr(1));
}

// The server refuses paths with these.
bool is_relative(std::string_view segment) { return segment == "." || segment == ".."; }

// A name below another one must not stand in that one's line, nor be the queue of a semaphore.
bool is_part_of_a_lock(std::string_view segment, bool first) {
  if (!first && (segment == "locks" || segment == "leases")) return true;
  return read_node(segment).has_value();
}

std::string segment_of(std::string_view text, bool first) {
  if (text.empty()) return std::string{empty_segment};
  std::string segment = encoded(text);
  if (segment.front() == '%') return segment;  // so it is nothing special, nor looks like it
  const bool of_the_server = first && segment == "zookeeper";
  if (is_relative(segment) || of_the_server || is_part_of_a_lock(segment, first)) {
    return with_first_byte_encoded(segment);
  }
  return segment;
}

/// False when that is no percent-encoded text. More than what encoded() gives is let through.
bool add_decoded(std::string_view segment, std::string& out) {
  if (segment == empty_segment) return true;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    if (segment[at] != '%') {
      out += segment[at];
      continue;
    }
    if (segment.size() - at < 3) return false;
    const auto high = hex_digits.find(segment[at + 1]);
    const auto low = hex_digits.find(segment[at + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    out += static_cast<char>(high << 4 | low);
    at += 2;
  }
  return true;
}

}  // namespace

std::string path_of(std::string_view root, const lock_name& name) {
  std::string path{root};
  std::string_view rest = name.view();
  for (bool first = true;; first = false) {
    const std::size_t end = rest.find('/');
    path += '/';
    path += segment_of(rest.substr(0, end), first);
    if (end == std::string_view::npos) return path;
    rest.remove_prefix(end + 1);
  }
}

std::optional<std::string> name_at(std::string_view root, std::string_view path) {
  if (!path.starts_with(root)) return std::nullopt;
  std::string_view rest = path.substr(root.size());
  std::string name;
  while (!rest.empty()) {
    if (rest.front() != '/') return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (!add_decoded(segment, name)) return std::nullopt;
    rest.remove_prefix(segment.size());
    if (!rest.empty()) name += '/';
  }
  try {
    // Whatever a name does not give, such as a byte encoded without need, shows here.
    if (path_of(root, lock_name::stored(name)) != path) return std::nullopt;
  } catch (const error&) {
    return std::nullopt;
  }
  return name;
}

std::string cell_path(std::string_view root, const lock_name& name) {
  const std::string segment = encoded(name.view());
  std::string path{root};
  path += "/crosslock:/cells/";
  return path += is_relative(segment) ? with_first_byte_encoded(segment) : segment;
}

std::optional<lock_name> cell_at(std::string_view root, std::string_view path) {
  constexpr std::string_view folder = "/crosslock:/cells/";
  if (!path.starts_with(root) || !path.substr(root.size()).starts_with(folder)) return {};
  std::string name;
  if (!add_decoded(path.substr(root.size() + folder.size()), name)) return {};
  try {
    return lock_name::stored(name);
  } catch (const error&) {
    return {};
  }
}

std::vector<std::string> ancestors(std::string_view path) {
  std::vector<std::string> found;
  for (std::size_t end = path.find('/', 1); end != std::string_view::npos;
       end = path.find('/', end + 1)) {
    found.emplace_back(path.substr(0, end));
  }
  found.emplace_back(path);
  return found;
}

}  // namespace crosslock::zookeeper
