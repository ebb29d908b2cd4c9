// Semaphores, and what mutexes of the same name have to do with them.
#include "engines/zookeeper/asking_kinds.hpp"

#include "line_rules/refusals.hpp"
#include "session/engine.hpp"

#include <algorithm>
#include <utility>

namespace crosslock::zookeeper {

// Permits and our line know nothing of each other, as with Curator: so nobody may use both. Each
// makes its node first and looks for the other kind then, so that of two who come at once one at
// least sees the other; whoever stood there before is not disturbed by one that is refused.
void asking_in_line::make() {
  newcomer_ = true;
  asking_line::make();
}

void asking_in_line::find() {
  newcomer_ = true;
  asking_line::find();
}

/// The name is, or was lately, that of a semaphore.
void asking_in_line::judge(response& listed) {
  // Its empty folders are swept one by one.
  const bool semaphore =
      newcomer_ && listed.ok() && std::ranges::any_of(listed.names, [](std::string_view child) {
        return child == "leases" || child == "locks";
      });
  return semaphore ? refuse_if_semaphore(listed) : judge_among_strangers(listed);
}

void asking_in_line::judge_among_strangers(response& listed) {
  unless_strangers(listed.names, [this, listed]() mutable { asking_line::judge(listed); });
}

void asking_in_line::refuse_if_semaphore(response& listed) {
  std::vector<sent> all;
  // The queue before the permits: whoever is admitted in between is seen in one of them.
  all.push_back({children(mine_->name_path + "/locks"),
                 [this](response& said) { queue_ = std::move(said); }});
  all.push_back({children(mine_->name_path + "/leases"), [this, listed](response& said) mutable {
                   if (said.cut_off()) return fail(said, "list '" + name().str() + "'");
                   if (queue_.names.empty() && said.names.empty()) {
                     return judge_among_strangers(listed);
                   }
                   const auto no = seam::another_kind(name().view(), true);
                   refuse(make_error(no.code, no.text));
                 }});
  send(std::move(all));
}

/// Everything that decides, in one flight. The queue before the permits: only who stands first
/// takes any, so once we do, nobody else can take one that we do not see.
std::vector<asking_permits::sent> asking_permits::survey() {
  std::vector<sent> all;
  all.push_back({children(mine_->parent), [this](response& said) { queue_ = std::move(said); }});
  all.push_back({children(leases()), [this](response& said) { given_out_ = std::move(said); }});
  all.push_back(
      {children(mine_->name_path), [this](response& said) { beside_ = std::move(said); }});
  all.push_back({read(leases()), nullptr});
  return all;
}

void asking_permits::make() {
  newcomer_ = true;
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->sent = true;
  }
  std::vector<sent> all;
  all.push_back({words().place_for(*mine_), [this](response& said) { made_ = std::move(said); }});
  for (sent& one : survey()) all.push_back(std::move(one));
  all.back().then = [this](response& said) {
    agreed_ = std::move(said);
    made();
  };
  send(std::move(all));
}

void asking_permits::made() {
  if (made_.no_node()) return make_parents();
  if (!made_.ok()) {
    if (!made_.cut_off()) {
      const seam::lock_guard guard{at_.table.mutex};
      mine_->sent = false;
    }
    return fail_below(mine_->parent, made_);
  }
  take_node(made_.path, made_.facts);
  judge();
}

void asking_permits::look() {
  if (!mine_->leases.empty()) return hold();
  std::vector<sent> all = survey();
  all.back().then = [this](response& said) {
    agreed_ = std::move(said);
    judge();
  };
  send(std::move(all));
}

void asking_permits::find() {
  newcomer_ = true;
  std::vector<sent> all;
  all.push_back({sync(mine_->name_path), nullptr});
  for (sent& one : survey()) all.push_back(std::move(one));
  all.back().then = [this](response& said) {
    agreed_ = std::move(said);
    found();
  };
  send(std::move(all));
}

/// Either it was admitted, or it still queues, or nothing has happened.
void asking_permits::found() {
  std::vector<std::string> mine;
  bool admitted = false;
  const auto gather = [&](const response& from, const std::string& folder) {
    for (const std::string_view child : from.names) {
      const auto node = read_node(child);
      if (node && node->owner() == claim().owner) mine.push_back(below(folder, child));
    }
  };
  if (queue_.cut_off()) return fail(queue_, "list '" + name().str() + "'");
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    mine_->replacing = false;
  }
  gather(given_out_, leases());
  admitted = !mine.empty();
  if (!admitted) gather(queue_, mine_->parent);
  if (mine.empty()) return start_over();
  std::vector<sent> all;
  all.push_back({read(mine.front()), [this, mine, admitted](response& said) {
                   if (said.cut_off()) return fail(said, "look at " + mine.front());
                   if (!said.ok() || !words().is_present(said.facts)) return start_over();
                   if (!admitted) {
                     take_node(mine.front(), said.facts);
                     return judge();
                   }
                   const auto said_there = read_inscription(said.data);
                   {
                     const seam::lock_guard guard{at_.table.mutex};
                     if (over()) return;
                     mine_->node.clear();
                     mine_->leases = mine;
                     mine_->first = fence{said_there ? said_there->token : 0};
                   }
                   hold();
                 }});
  send(std::move(all));
}

bool asking_permits::room(std::size_t given_out) const {
  return given_out + static_cast<std::size_t>(claim().permits) <=
         static_cast<std::size_t>(claim().of);
}

/// Permits given out, and those that will be to whoever queues before us. Who was admitted between
/// the two listings stands in both.
std::size_t asking_permits::claimed_before(std::span<const node> queue) const {
  std::vector<std::string_view> admitted;
  admitted.reserve(given_out_.names.size());
  for (const std::string_view child : given_out_.names) {
    const auto lease = read_node(child);
    if (lease && !lease->id.empty()) admitted.push_back(lease->id);
  }
  std::ranges::sort(admitted);
  // Curator's first takes a lease by another id, and leaves the queue after that.
  if (!queue.empty() && queue.front().kind == node_kind::mutex && !admitted.empty()) {
    queue = queue.subspan(1);
  }
  std::size_t sum = given_out_.names.size();
  for (const node& one : queue) {
    if (!std::ranges::binary_search(admitted, one.id)) sum += static_cast<std::size_t>(one.permits);
  }
  return sum;
}

void asking_permits::judge() {
  unless_strangers(beside_.names, [this] { judge_permits(); });
}

void asking_permits::judge_permits() {
  if (queue_.no_node()) return start_over();
  if (given_out_.no_node()) return make_parents();
  if (!queue_.ok()) return fail(queue_, "list '" + name().str() + "'");
  if (!given_out_.ok()) return fail(given_out_, "list the permits of '" + name().str() + "'");
  const auto agreed = read_inscription(agreed_.data);
  const std::vector<node> line = read_line(queue_.names);
  const std::string own = mine_->node.substr(mine_->node.rfind('/') + 1);
  const auto me = std::ranges::find(line, own, &node::name);
  if (me == line.end()) return start_over();
  const auto index = static_cast<std::size_t>(me - line.begin());
  const bool in_use = index > 0 || !given_out_.names.empty();
  if (newcomer_ && !read_line(beside_.names).empty()) {
    const auto no = seam::another_kind(name().view(), false);
    return refuse(make_error(no.code, no.text));
  }
  of_is_written_ = agreed && agreed->of == claim().of;
  if (in_use && agreed && agreed->of != 0 && !of_is_written_) {
    return refuse(make_error(errc::conflict, "'" + name().str() + "' is a semaphore of " +
                                                 std::to_string(agreed->of) + " permits, not of " +
                                                 std::to_string(claim().of)));
  }
  if (index >= line_longest) {
    return refuse(make_error(errc::queue_full, "the line of '" + name().str() +
                                                   "' has reached its cap of " +
                                                   std::to_string(line_longest) + " waiters"));
  }
  const std::size_t before = claimed_before({line.data(), index});
  if (index == 0 && room(before)) return admit();
  if (!claim().wait && !room(before)) return busy();
  if (index == 0) return wait_for_room();
  wait_behind(line[index - 1], !claim().wait);
}

/// First in the queue: only this one watches the permits.
void asking_permits::wait_for_room() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    at_.table.watch(mine_, leases());
  }
  const time_point now = at_.clock.now();
  std::vector<sent> all;
  all.push_back({children(leases(), true), [this, now](response& said) {
                   if (said.no_node()) return make_parents();
                   if (!said.ok()) return fail(said, "watch the permits of '" + name().str() + "'");
                   if (room(said.names.size())) return admit();
                   in_line(now);
                 }});
  send(std::move(all));
}

/// A try does not stand in line: but those before it may only be on their way in, and there may
/// be enough for all of them.
void asking_permits::wait_behind(const node& before, bool only_for_a_moment) {
  const std::string path = node_in(before.name);
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    at_.table.watch(mine_, path);
    if (only_for_a_moment) {
      const time_point until = at_.clock.now() + a_moment;
      at_.table.stay(mine_, until, [self = shared_from_this(), this](bool in_time) {
        if (!in_time) return busy();
        try {
          look();
        } catch (const error& why) {
          fail(why);
        }
      });
    }
  }
  const time_point now = at_.clock.now();
  std::vector<sent> all;
  all.push_back({read(path, true), [this, now, only_for_a_moment](response& said) {
                   if (only_for_a_moment && !said.ok()) {
                     const seam::lock_guard guard{at_.table.mutex};
                     // An event of an older watch has made it go on already.
                     if (!std::exchange(mine_->go_on, nullptr)) return;
                   }
                   if (said.no_node()) return look();
                   if (!said.ok()) return fail(said, "watch the line of '" + name().str() + "'");
                   if (!only_for_a_moment) in_line(now);
                 }});
  send(std::move(all));
}

/// In one step, so that nobody sees a permit taken by one that no longer stands first.
void asking_permits::admit() {
  {
    const seam::lock_guard guard{at_.table.mutex};
    if (over()) return;
    at_.table.unwatch(mine_);
    mine_->replacing = true;  // until it is answered nobody knows where it stands
  }
  std::vector<change> parts;
  parts.push_back({.what = change::kind::check, .path = mine_->node, .data = {}});
  const std::string stem =
      leases() + '/' + new_node(words().names(), node_kind::lease, claim().owner);
  for (std::int32_t i = 0; i < claim().permits; ++i) {
    parts.push_back({.what = change::kind::create,
                     .path = stem,
                     .data = words().inscription_of(*mine_),
                     .life = node_life::ephemeral_sequential});
  }
  parts.push_back({.what = change::kind::erase, .path = mine_->node, .data = {}});
  if (!of_is_written_) {  // another library's, or it was of another size when it was used last
    parts.push_back(
        {.what = change::kind::write, .path = leases(), .data = inscribe({.of = claim().of})});
  }
  std::vector<sent> all;
  all.push_back({transaction(std::move(parts)), [this](response& said) {
                   {
                     const seam::lock_guard guard{at_.table.mutex};
                     if (over()) return;  // whoever asks or leaves now finds out
                     if (!said.cut_off()) mine_->replacing = false;
                     if (said.ok()) {
                       mine_->node.clear();
                       mine_->leases.assign(said.names.begin(), said.names.end());
                     }
                   }
                   // The permits' node may have been swept away, empty; or our own is gone.
                   if (said.no_node()) return make_parents();
                   if (!said.ok()) return fail(said, "take permits of '" + name().str() + "'");
                   hold();
                 }});
  send(std::move(all));
}

}  // namespace crosslock::zookeeper
