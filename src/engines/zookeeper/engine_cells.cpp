// Cells: a persistent node each. Its first line says version, fence and last writer; what follows
// is the value. A write names the version of the node that was read, so nothing is overwritten
// unseen. A node that was removed and made again counts its versions from zero, so each erasure
// also writes to the folder of all cells, and each write names the version of the folder that was
// read before the cell: it meets the very node that was read, or nothing. For the same reason a
// cell's version is the transaction that made the node plus the number of writes since: every write
// is a transaction of its own, so a node that is made later begins higher.
#include "engines/zookeeper/engine.hpp"
#include "engines/zookeeper/path.hpp"

#include <charconv>
#include <string>
#include <utility>

namespace crosslock::zookeeper {

struct engine::stored_cell {
  seam::cell now{};
  owner_id writer{};
  bool exists = false;
  std::uint64_t writes = 0;
  std::int64_t born = 0;
  std::int32_t node_version = 0;
  std::int32_t folder_version = 0;
};

namespace {

constexpr std::string_view cell_signature = "crosslock/1 cell ";
template <class Number>
std::string_view take_number(std::string_view text, Number& into) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), into);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::uint64_t version_of(std::int64_t born, std::uint64_t writes) {
  return static_cast<std::uint64_t>(born) + writes;
}

}  // namespace

engine::stored_cell engine::fetch_cell(const lock_name& name, bool watch, time_point give_up) {
  const std::string path = cell_path(wire_.root(), name);
  const std::string folder = folder_of(path);
  // A server may lag behind what others have been told already.
  auto said = wire_.call({sync(path), exists(folder), read(path, watch)}, give_up);
  if (said[2].no_node() && watch) {
    const response born = wire_.call(exists(path, true), give_up);
    if (born.ok()) said = wire_.call({sync(path), exists(folder), read(path, true)}, give_up);
  }
  const response& found = said[2];
  if (found.no_node()) return {};
  if (!found.ok()) throw error_in(found, "read the cell '" + name.str() + "'", wire_.shown());
  std::string_view text = found.data;
  const std::size_t end = text.find('\n');
  if (!text.starts_with(cell_signature) || end == std::string_view::npos) {
    throw make_error(errc::conflict, path + " is not a cell of ours");
  }
  stored_cell cell;
  cell.exists = true;
  cell.born = found.facts.born;
  cell.node_version = found.facts.version;
  cell.folder_version = said[1].facts.version;
  cell.now.value = text.substr(end + 1);
  std::string_view words = text.substr(cell_signature.size(), end - cell_signature.size());
  std::int64_t highest = 0;
  words = take_number(words, cell.writes);
  if (cell.writes != 0) cell.now.version = version_of(cell.born, cell.writes);
  words = take_number(words, highest);
  cell.now.highest = fence{highest};
  cell.writer = owner_id::parse(words).value_or(owner_id{});
  return cell;
}

/// False when somebody else was quicker. Notes when the node was born.
bool engine::store_cell(const std::string& path, stored_cell& next, time_point give_up) {
  using kind = change::kind;
  std::string data{cell_signature};
  data += std::to_string(next.writes) + ' ' + next.now.highest.to_string() + ' ' +
          next.writer.to_string() + '\n' + next.now.value;
  if (next.exists) {
    return carried_out(
        {{.what = kind::write, .path = path, .data = std::move(data), .version = next.node_version},
         {.what = kind::check,
          .path = folder_of(path),
          .data = {},
          .version = next.folder_version}},
        path, give_up);
  }
  const auto put = [&] {
    return wire_.call(create(path, data, node_life::persistent, rights::shared), give_up);
  };
  response said = put();
  if (said.no_node()) {
    std::vector<request> folders;
    for (std::string& each : ancestors(folder_of(path))) {
      folders.push_back(create(std::move(each), {}, node_life::container, rights::shared));
    }
    // A folder that went when it was empty, and came again, would count its versions from zero.
    folders.back().life = node_life::persistent;
    wire_.call(std::move(folders), give_up);
    said = put();
  }
  next.born = said.facts.born;
  if (said.ok()) return true;
  if (said.exists_already() || said.no_node()) return false;
  throw error_in(said, "write " + path, wire_.shown());
}

/// The same.
bool engine::remove_cell(const std::string& path, const stored_cell& found, time_point give_up) {
  using kind = change::kind;
  return carried_out(
      {{.what = kind::erase, .path = path, .data = {}, .version = found.node_version},
       {.what = kind::write, .path = folder_of(path), .data = {}, .version = found.folder_version}},
      path, give_up);
}

bool engine::carried_out(std::vector<change> changes, const std::string& path, time_point give_up) {
  const response said = wire_.call(transaction(std::move(changes)), give_up);
  if (said.ok()) return true;
  if (said.what == response::result::changed || said.no_node()) return false;
  throw error_in(said, "write " + path, wire_.shown());
}

seam::cell engine::read_cell(const lock_name& name, time_point give_up) {
  return fetch_cell(name, false, give_up).now;
}

seam::cell engine::watch_cell(const lock_name& name, duration span, time_point give_up) {
  const time_point now = clock_.now();
  cells_.note(name, now + std::min<duration>(span, std::chrono::hours{24}), now);
  return fetch_cell(name, true, give_up).now;
}

seam::swap_answer engine::swap_cell(const seam::cell_swap& wanted, time_point give_up) {
  using result = seam::swap_answer::result;
  seam::refuse_long_value(offered.name, wanted, offered.cell_bytes);
  const std::string path = cell_path(wire_.root(), *wanted.name);
  for (;;) {
    stored_cell found = fetch_cell(*wanted.name, false, give_up);
    // Before anything else: what was written stays written, whoever has shown a fence since.
    if (found.now.version != 0 && found.writer == wanted.writer) {
      return {result::swapped, {{}, found.now.version, found.now.highest}};
    }
    if (wanted.erase && !found.exists) return {result::swapped, {}};
    if (wanted.token < found.now.highest) return {result::shut_out, std::move(found.now)};
    if (wanted.expected != found.now.version) return {result::changed, std::move(found.now)};
    if (wanted.erase) {
      if (remove_cell(path, found, give_up)) return {result::swapped, {}};
      continue;
    }
    stored_cell next = found;
    next.now = {wanted.value, 0, wanted.token};
    next.writer = wanted.writer;
    ++next.writes;
    if (store_cell(path, next, give_up)) {
      return {result::swapped, {{}, version_of(next.born, next.writes), next.now.highest}};
    }
  }
}

std::optional<seam::cell> engine::open_cell(const lock_name& name, fence token,
                                            time_point give_up) {
  const std::string path = cell_path(wire_.root(), name);
  for (;;) {
    stored_cell found = fetch_cell(name, false, give_up);
    if (token < found.now.highest) return std::nullopt;
    if (token == found.now.highest) return std::move(found.now);
    found.now.highest = token;
    if (store_cell(path, found, give_up)) return std::move(found.now);
  }
}

}  // namespace crosslock::zookeeper
