// Inspection: what stands in the tree, in the words of the seam.
#include "engines/zookeeper/engine.hpp"
#include "engines/zookeeper/path.hpp"

#include "line_rules/line_rule.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

namespace crosslock::zookeeper {
namespace {

/// One claim with everything that its node says.
struct seen {
  node about;
  std::string path;
  response said;
  std::optional<inscription> words;
};

claim_info show(const seen& one, std::optional<std::int64_t> server_ms, bool holds) {
  claim_info info;
  info.owner = one.about.owner().value_or(owner_id{});
  info.mode = demand_of(one.about).mode;
  info.foreign = !one.words;
  if (one.about.kind == node_kind::permits || one.about.kind == node_kind::lease) {
    info.mode = claim_mode::permit;
    info.permits = one.about.permits;
    info.of = one.words ? one.words->of : 1;
  }
  if (server_ms) {
    info.age = std::chrono::milliseconds{
        std::max<std::int64_t>(*server_ms - one.said.facts.made_at_ms, 0)};
  }
  if (one.words) {
    info.who = one.words->who;
    if (!one.words->mark.empty()) {
      info.owner = owner_id::parse(one.words->mark).value_or(owner_id{});
    }
  }
  if (!holds) return info;
  info.lease_left = one.words ? one.words->session : duration::max();
  if (one.words) {
    info.fence =
        one.words->token != 0 ? fence{one.words->token} : fence_of(one.said.facts.born, one.path);
  }
  return info;
}

/// The nodes themselves, in one flight; those that have gone meanwhile are left out.
std::vector<seen> read_all(connection& wire, std::vector<seen> all, time_point give_up) {
  if (all.empty()) return all;
  std::vector<request> requests;
  requests.reserve(all.size());
  for (const seen& one : all) requests.push_back(read(one.path));
  auto said = wire.call(std::move(requests), give_up);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].words = read_inscription(said[i].data);
    all[i].said = std::move(said[i]);
  }
  std::erase_if(all, [](const seen& one) { return !one.said.ok(); });
  return all;
}

std::vector<seen> in_folder(const std::string& folder, const std::vector<node>& nodes) {
  std::vector<seen> all;
  for (const node& one : nodes) {
    all.push_back({.about = one, .path = below(folder, one.name), .said = {}, .words = {}});
  }
  return all;
}

/// The permits of one claim are several nodes.
void add_permits(lock_info& info, const std::vector<seen>& leases,
                 std::optional<std::int64_t> server_ms) {
  for (const seen& one : leases) {
    claim_info shown = show(one, server_ms, true);
    const auto same = std::ranges::find(info.holders, shown.owner, &claim_info::owner);
    if (same != info.holders.end() && !shown.owner.nobody()) {
      ++same->permits;
    } else {
      shown.permits = 1;
      info.holders.push_back(std::move(shown));
    }
  }
}

}  // namespace

lock_info engine::look(const lock_name& name, time_point give_up) {
  const std::string name_path = path_of_name(name);
  lock_info info{.name = name.str(), .holders = {}, .line = {}};
  auto said = wire_.call({sync(name_path), children(name_path), children(name_path + "/locks"),
                          children(name_path + "/leases"), read(name_path)},
                         give_up);
  if (said[1].no_node()) return info;
  if (!said[1].ok()) throw error_in(said[1], "list '" + name.str() + "'", wire_.shown());
  const auto server_ms = wire_.server_ms();
  if (said[4].ok() && said[4].facts.owner != 0) {  // strategy=single
    seen only;
    only.path = name_path;
    only.said = said[4];
    only.words = read_inscription(said[4].data);
    info.holders.push_back(show(only, server_ms, true));
    return info;
  }
  std::vector<node> leases;
  for (const std::string_view child : said[3].names) {
    const auto one = read_node(child);
    if (one && one->kind == node_kind::lease) leases.push_back(*one);
  }
  std::ranges::sort(leases, {}, &node::sequence);
  std::vector<seen> all = in_folder(name_path, read_line(said[1].names));
  for (seen& one : in_folder(name_path + "/locks", read_line(said[2].names))) all.push_back(one);
  for (seen& one : in_folder(name_path + "/leases", leases)) all.push_back(one);
  all = read_all(wire_, std::move(all), give_up);

  std::vector<seen> line;
  std::vector<seen> queue;
  std::vector<seen> given_out;
  for (seen& one : all) {
    if (one.about.kind == node_kind::lease) {
      given_out.push_back(std::move(one));
    } else if (one.path.starts_with(name_path + "/locks/")) {
      one.about.kind = node_kind::permits;
      queue.push_back(std::move(one));
    } else {
      line.push_back(std::move(one));
    }
  }
  std::vector<seam::demand> demands;
  for (const seen& one : line) demands.push_back(demand_of(one.about));
  seam::line_so_far before;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool beside = line[i].words && std::ranges::any_of(info.holders, [&](const auto& one) {
                          return one.owner.to_string() == line[i].words->beside;
                        });
    const bool holds = before.admits(demands[i], beside);
    before.add(demands[i]);
    (holds ? info.holders : info.line).push_back(show(line[i], server_ms, holds));
  }
  add_permits(info, given_out, server_ms);
  for (const seen& one : queue) info.line.push_back(show(one, server_ms, false));
  return info;
}

/// Walks the whole tree below the root, level by level. Names have no prefix that the server knows.
std::vector<lock_info> engine::list(std::string_view prefix, time_point give_up) {
  std::vector<std::string> level{wire_.root().empty() ? "/" : wire_.root()};
  std::vector<std::string> used;
  while (!level.empty()) {
    std::vector<request> requests;
    for (const std::string& each : level) requests.push_back(children(each));
    auto said = wire_.call(std::move(requests), give_up);
    std::vector<std::string> next;
    for (std::size_t i = 0; i < level.size(); ++i) {
      const std::string at = level[i] == "/" ? std::string{} : level[i];
      bool has_claims = false;
      for (const std::string_view child : said[i].names) {
        if (read_node(child)) {
          has_claims = true;
        } else if (at.size() > wire_.root().size() ||
                   (child != "zookeeper" && child != "crosslock:")) {
          next.push_back(below(at, child));
        }
      }
      if (has_claims || (how_.single && said[i].ok() && said[i].names.empty())) {
        used.push_back(at);
      }
    }
    level = std::move(next);
  }
  std::vector<std::string> names;
  for (const std::string& path : used) {
    std::string name_path = path;
    for (const std::string_view part : {"/locks", "/leases"}) {
      const bool below = name_path.size() > wire_.root().size() + part.size();
      if (below && name_path.ends_with(part)) name_path.resize(name_path.size() - part.size());
    }
    const auto name = name_at(wire_.root(), name_path);
    if (name && name->starts_with(prefix)) names.push_back(*name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<lock_info> found;
  for (const std::string& name : names) {
    lock_info info = look(lock_name::stored(name), give_up);
    if (!info.holders.empty() || !info.line.empty()) found.push_back(std::move(info));
  }
  return found;
}

bool engine::break_lock(const lock_name& name, owner_id owner, time_point give_up) {
  const lock_info info = look(name, give_up);
  if (std::ranges::find(info.holders, owner, &claim_info::owner) == info.holders.end()) {
    return false;
  }
  const std::string name_path = path_of_name(name);
  if (how_.single) return wire_.call(erase(name_path), give_up).ok();
  bool broken = false;
  for (const std::string& folder : {name_path, name_path + "/leases"}) {
    const response listed = wire_.call(children(folder), give_up);
    for (const std::string_view child : listed.names) {
      const auto one = read_node(child);
      if (!one || one->owner() != owner) continue;
      const response said = wire_.call(erase(below(folder, child)), give_up);
      if (!said.ok() && !said.no_node()) {
        throw error_in(said, "break '" + name.str() + "'", wire_.shown());
      }
      broken = broken || said.ok();
    }
  }
  return broken;
}

std::vector<seam::finding> engine::examine(time_point give_up) {
  wire_.require(give_up);
  std::vector<seam::finding> all;
  const auto ms = [](duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count()) +
           " ms";
  };
  if (how_.single) {
    all.push_back({.weight = seam::severity::warning,
                   .topic = "strategy",
                   .text = "strategy=single wakes every waiter at each release, and keeps no order",
                   .code = {}});
  }
  all.push_back({.weight = seam::severity::note,
                 .topic = "session",
                 .text = "the ensemble gives sessions of " + ms(wire_.timeout()) +
                         ": a dead holder keeps its locks for that long, and a heartbeat is "
                         "written every " +
                         ms(wire_.beat_interval()),
                 .code = {}});
  if (wire_.timeout() < asked_) {
    all.push_back({.weight = seam::severity::warning,
                   .topic = "session",
                   .text = shorter_than_asked(wire_.shown(), asked_, wire_.timeout()),
                   .code = {}});
  }
  return all;
}

}  // namespace crosslock::zookeeper
