// Each message is one verb of the line server. What a server adds to that is the news: who has
// missed some, and who watches which cell.
#include "engines/memory/server.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace crosslock::memory {
namespace {

/// One message, and whom it came from.
struct carrying_out {
  client_id from;
  seam::line_server& line;
  seam::rows& rows;

  reply operator()(const ask_request& message) const {
    line.act_for(from, message.who);
    auto heard = line.ask(message.claim);
    return std::visit([](auto& answer) -> reply { return std::move(answer); }, heard);
  }
  reply operator()(const withdraw_request& message) const {
    line.withdraw(message.name, message.owner, {}, message.offer_of);
    return withdraw_reply{};
  }
  reply operator()(const renew_request& message) const {
    return renew_reply{line.renew(message.items)};
  }
  reply operator()(const release_request& message) const {
    return release_reply{line.release(message.name, message.owner, message.fence).answer};
  }
  reply operator()(const adopt_request& message) const {
    line.act_for(from, message.who);
    const auto taken = line.adopt(message.detached, message.fence, message.next);
    return taken ? adopt_reply{true, *taken} : adopt_reply{};
  }
  reply operator()(const break_request& message) const {
    return break_reply{line.break_lock(message.name, message.owner)};
  }
  reply operator()(const look_request& message) const {
    return look_reply{line.look(message.name->view())};
  }
  reply operator()(const list_request& message) const {
    return list_reply{line.list(message.prefix)};
  }
  reply operator()(const read_cell_request& message) const {
    return read_cell_reply{rows.find_cell(message.name->view()).now};
  }
  reply operator()(const swap_cell_request& message) const {
    return swap_cell_reply{line.swap_cell(message.wanted)};
  }
  reply operator()(const open_cell_request& message) const {
    return open_cell_reply{line.open_cell(message.name, message.token)};
  }
};

}  // namespace

reply carry_out(const request& message, client_id from, seam::line_server& line, seam::rows& rows) {
  line.act_for(from);
  return std::visit(carrying_out{from, line, rows}, message);
}

server::outcome server::apply(client_id from, const request& message, server_time now) {
  ++applied_[message.index()];
  rows_.set_time(now);
  if (const auto* const reading = std::get_if<read_cell_request>(&message)) {
    if (reading->watch > duration::zero()) watch(reading->name, reading->watch, from);
  }
  seam::line_server line{rows_, static_cast<std::int64_t>(limits_.line_max)};
  outcome result{carry_out(message, from, line, rows_), line.take_news()};
  if (!result.pushes.empty() && result.pushes.front().what == push::kind::cell_changed) {
    result.pushes = tell_watchers(result.pushes.front().name);
  }
  return result;
}

std::vector<push> server::connect(client_id client) {
  rows_.connect(client);
  std::vector<push> pushes;
  for (const auto& [key, name] : rows_.all().names) {
    for (const auto& [ticket, one] : name.line) {
      if (one.client != client) continue;
      pushes.push_back({push::kind::look_again, client, name.name, one.owner, ticket, {}});
    }
  }
  for (auto& [cell, watched] : watches_) {
    if (watched.until.erase(client) == 0) continue;
    pushes.push_back({push::kind::cell_changed, client, watched.name, {}, 0, {}});
  }
  return pushes;
}

/// Whoever watches is told once, and reads again.
void server::watch(const seam::name_ref& name, duration span, client_id from) {
  const server_time now = rows_.now();
  if (watches_.size() >= sweep_watches_at_) {
    std::erase_if(watches_, [&](const auto& entry) {
      const auto& until = entry.second.until;
      return std::all_of(until.begin(), until.end(),
                         [&](const auto& one) { return one.second <= now; });
    });
    sweep_watches_at_ = 64 + 2 * watches_.size();
  }
  watch_state& watched = watches_[name->str()];
  watched.name = name;
  server_time& until = watched.until[from];
  until = std::max(until, now > server_time::max() - span ? server_time::max() : now + span);
}

std::vector<push> server::tell_watchers(const seam::name_ref& name) {
  std::vector<push> pushes;
  const auto it = watches_.find(name->view());
  if (it == watches_.end()) return pushes;
  auto& until = it->second.until;
  std::erase_if(until, [&](const auto& one) { return one.second <= rows_.now(); });
  std::erase_if(until, [&](const auto& one) {
    if (!rows_.hears(one.first)) return false;  // it is told when it comes back
    pushes.push_back({push::kind::cell_changed, one.first, name, {}, 0, {}});
    return true;
  });
  if (until.empty()) watches_.erase(it);
  return pushes;
}

}  // namespace crosslock::memory
