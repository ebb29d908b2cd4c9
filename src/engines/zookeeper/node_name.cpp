// A name is read from its end: the sequence, the word before it that says what it is, and what is
// left says who.
#include "engines/zookeeper/node_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <tuple>
#include <utility>

namespace crosslock::zookeeper {
namespace {

constexpr std::string_view protection = "_c_";  // Curator's word for names it finds again

struct marker {
  std::string_view text;
  node_kind kind;
  bool apart;  // with a hyphen between it and what stands before: else any word could end so
};

constexpr std::array markers{
    marker{"lock-", node_kind::mutex, true},      marker{"lease-", node_kind::lease, true},
    marker{"__READ__", node_kind::reader, false}, marker{"__WRIT__", node_kind::writer, false},
    marker{"__lock__", node_kind::mutex, false},  marker{"__rlock__", node_kind::reader, false},
};

// ------------------------------------------------------------------------------------- owners

constexpr std::array<std::size_t, 4> uuid_hyphens{8, 13, 18, 23};

std::string uuid_of(const owner_id& owner) {
  std::string text = owner.to_string();
  for (const std::size_t at : uuid_hyphens) text.insert(at, 1, '-');
  return text;
}

// --------------------------------------------------------------------------- names without number

std::optional<std::int32_t> number_in(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `<rest>p<k>-`: takes that off the end of what stands before `lock-`.
std::optional<std::int32_t> take_permits(std::string_view& before) {
  const std::size_t at = before.rfind("-p");
  if (!before.starts_with(protection) || !before.ends_with('-') || at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = before.substr(at + 2, before.size() - at - 3);
  const auto permits = number_in(digits);
  if (!permits || *permits < 1 || digits.front() == '0') return std::nullopt;
  before = before.substr(0, at + 1);
  return permits;
}

/// ZooKeeper's own recipes: the session in hexadecimal (C) or, maybe negative, in decimal (Java).
bool is_recipe(std::string_view stem) {
  if (!stem.starts_with("x-") || !stem.ends_with('-') || stem.size() < 4) return false;
  std::string_view session = stem.substr(2, stem.size() - 3);
  if (session.front() == '-') session.remove_prefix(1);
  return !session.empty() && session.size() <= 20 &&
         session.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void read_id(std::string_view before, node& into) {
  if (into.kind == node_kind::mutex) {
    if (const auto permits = take_permits(before)) {
      into.kind = node_kind::permits;
      into.permits = *permits;
    }
  }
  if (before.starts_with(protection) && before.ends_with('-')) {
    before = before.substr(protection.size(), before.size() - protection.size() - 1);
  }
  into.id = before;
}

/// Everything but name and sequence.
std::optional<node> read_stem(std::string_view stem) {
  node found;
  if (is_recipe(stem)) return found;
  for (const marker& one : markers) {
    if (!stem.ends_with(one.text)) continue;
    const std::string_view before = stem.substr(0, stem.size() - one.text.size());
    if (one.apart && !before.empty() && before.back() != '-') continue;
    found.kind = one.kind;
    if (!before.empty()) read_id(before, found);
    return found;
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------------------- sequences

/// As the server writes it, and no other way: ten characters, or eleven below -999999999.
bool is_spelt_as_sequence(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
  if (text.size() == 10) return !negative || digits != "000000000";
  return negative && digits.front() != '0';
}

std::optional<node> read_with(std::string_view child, std::size_t characters) {
  if (child.size() < characters) return std::nullopt;
  const std::string_view text = child.substr(child.size() - characters);
  if (!is_spelt_as_sequence(text)) return std::nullopt;
  const auto sequence = number_in(text);
  if (!sequence) return std::nullopt;
  auto found = read_stem(child.substr(0, child.size() - characters));
  if (!found) return std::nullopt;
  found->name = child;
  found->sequence = *sequence;
  return found;
}

std::uint32_t on_the_circle(std::int32_t sequence) { return static_cast<std::uint32_t>(sequence); }

/// The sequence that comes first: the one behind the widest gap on the circle of 2^32. When all
/// lie within half of it that is the order by wrapping difference, and it is an order in any case.
std::uint32_t first_of(std::span<const node> sorted) {
  std::uint32_t first = 0;
  std::uint32_t widest = 0;
  std::uint32_t before = sorted.empty() ? 0 : on_the_circle(sorted.back().sequence);
  for (const node& one : sorted) {
    const std::uint32_t here = on_the_circle(one.sequence);
    if (here - before > widest) {
      widest = here - before;
      first = here;
    }
    before = here;
  }
  return first;
}

// A downgraded reader has its writer's sequence, and comes behind it for as long as both stand.
bool comes_before(const node& one, const node& other) {
  const auto rank = [](const node& node) {
    return std::tuple{on_the_circle(node.sequence), node.kind == node_kind::reader, node.name};
  };
  return rank(one) < rank(other);
}

// ------------------------------------------------------------------------------- other libraries

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// `_c_<uuid>-latch-<sequence>`
bool is_latch(std::string_view child) {
  constexpr std::string_view word = "-latch-";
  constexpr std::size_t digits = 10;
  return child.size() > word.size() + digits && child.starts_with(protection) &&
         is_spelt_as_sequence(child.substr(child.size() - digits)) &&
         child.substr(0, child.size() - digits).ends_with(word);
}

/// Other libraries take random UUIDs, which say so by six of their bits; ours say nothing.
bool may_be_drawn_elsewhere(std::string_view id) {
  const std::size_t hyphens = id.size() == 36 ? 1 : 0;
  if (id.size() != 36 && id.size() != 32) return true;
  return id[12 + 2 * hyphens] == '4' &&
         std::string_view{"89ab"}.find(id[16 + 3 * hyphens]) != std::string_view::npos;
}

}  // namespace

std::optional<owner_id> node::owner() const {
  if (id.size() != 36) return owner_id::parse(id);
  std::array<char, 32> digits{};
  std::size_t count = 0;
  for (std::size_t at = 0; at < id.size(); ++at) {
    const bool hyphen = std::ranges::find(uuid_hyphens, at) != uuid_hyphens.end();
    if (hyphen != (id[at] == '-')) return std::nullopt;
    if (!hyphen) digits[count++] = id[at];
  }
  return owner_id::parse({digits.data(), digits.size()});
}

std::string new_node(naming how, node_kind kind, const owner_id& owner, std::int32_t permits) {
  const bool as_kazoo = how == naming::kazoo;
  const std::string id =
      as_kazoo ? owner.to_string() : std::string{protection} + uuid_of(owner) + '-';
  switch (kind) {
    case node_kind::mutex:
      return id + (as_kazoo ? "__lock__" : "lock-");
    case node_kind::writer:
      return id + (as_kazoo ? "__lock__" : "__WRIT__");
    case node_kind::reader:
      return id + (as_kazoo ? "__rlock__" : "__READ__");
    case node_kind::permits:
    case node_kind::lease:
      break;  // kazoo's own semaphore has no line: these are Curator's
  }
  const std::string curators = std::string{protection} + uuid_of(owner) + '-';
  if (kind == node_kind::lease) return curators + "lease-";
  return curators + 'p' + std::to_string(permits) + "-lock-";
}

std::string sequenced(std::string_view stem, std::int32_t sequence) {
  const std::int64_t number = sequence;  // whose opposite always exists
  const std::string digits = std::to_string(number < 0 ? -number : number);
  std::string name{stem};
  if (number < 0) name += '-';
  const std::size_t width = number < 0 ? 9 : 10;
  if (digits.size() < width) name.append(width - digits.size(), '0');
  return name += digits;
}

std::string reader_in_place_of(naming how, const owner_id& owner, std::int32_t sequence) {
  return sequenced(new_node(how, node_kind::reader, owner), sequence);
}

std::optional<node> read_node(std::string_view child) {
  if (child.starts_with('%')) return std::nullopt;  // a name below this one, see path.cpp
  if (auto found = read_with(child, 10)) return found;
  return read_with(child, 11);
}

std::string_view stranger(naming how, node_kind ours, std::string_view child) {
  if (child.size() == 32 && is_hexadecimal(child)) {
    return "kazoo's Semaphore, which knows no others: use another name";
  }
  if (is_latch(child)) return "Curator's LeaderLatch, which knows no locks: use another name";
  if (ours == node_kind::permits) return {};  // whatever is a claim there is in its way
  const auto other = read_node(child);
  if (!other || other->kind == node_kind::lease || !may_be_drawn_elsewhere(other->id)) return {};
  const bool of_kazoo = child.find("__lock__") != std::string_view::npos ||
                        child.find("__rlock__") != std::string_view::npos;
  if (how == naming::kazoo) {
    return of_kazoo ? std::string_view{} : "Curator or others: leave naming=kazoo out of the URL";
  }
  if (of_kazoo) return "kazoo: say naming=kazoo in the URL";
  const bool shares = other->kind == node_kind::reader || other->kind == node_kind::writer;
  if (shares && ours == node_kind::mutex) {
    return "Curator's InterProcessReadWriteLock: use a shared_mutex, or crosslock run -x";
  }
  if (!shares && ours != node_kind::mutex && child.find("lock-") != std::string_view::npos) {
    return "a mutex of another library, which knows no readers: use a mutex, or crosslock run "
           "without -s and -x";
  }
  return {};
}

std::vector<node> read_line(std::span<const std::string_view> children) {
  std::vector<node> line;
  line.reserve(children.size());
  for (const std::string_view child : children) {
    auto found = read_node(child);
    if (found && found->kind != node_kind::lease) line.push_back(*found);
  }
  std::ranges::sort(line, comes_before);
  const std::uint32_t first = first_of(line);
  const auto start =
      std::ranges::find(line, first, [](const node& one) { return on_the_circle(one.sequence); });
  std::rotate(line.begin(), start, line.end());
  return line;
}

seam::demand demand_of(const node& node) noexcept {
  return {.mode = node.kind == node_kind::reader ? claim_mode::shared : claim_mode::exclusive};
}

}  // namespace crosslock::zookeeper
