// A node of ours must go, whatever becomes of the connection. It is removed by this session, again
// after each reconnect, or by the end of the session.
#include "session/claim_environment.hpp"

#include <utility>

namespace crosslock::session {

std::optional<seam::grant> claim_environment::grant_of(const standing& held) const {
  const tree::life life = wire.now();
  if (life.session != held.session || !life.proven) return std::nullopt;
  return seam::grant{.name = held.claim.name,
                     .owner = held.claim.owner,
                     .first = held.first,
                     .last = fence{held.first.value() + seam::fence_block - 1},
                     .lease = life.timeout,
                     .sent = *life.proven,
                     .asked = held.asked,
                     .session = life.lasts,
                     .offer = false,
                     .wanted = false};
}

void finish_removal(claim_environment& at, const standing_ref& one, response& said,
                    const hearer& then) {
  {
    const seam::lock_guard guard{at.table.mutex};
    if (said.ok() || said.no_node()) {
      at.table.forget(one);
    } else if (!said.cut_off()) {
      at.table.remove_later(one);
    }
  }
  if (then) then(said);
}

namespace {

/// Each by itself, for one that is gone already must not keep the others.
void remove_each(claim_environment& at, const standing_ref& one,
                 const std::vector<std::string>& paths, const hearer& then) {
  const auto worst = std::make_shared<response>();
  std::vector<tree::asked> all;
  for (const std::string& path : paths) {
    all.push_back({erase(path), [worst](response& said) {
                     // What was gone already says nothing of the rest.
                     const bool worse = !said.ok() && !worst->cut_off();
                     if (worse && (worst->ok() || !said.no_node())) *worst = said;
                   }});
  }
  const hearer last = all.back().then;
  all.back().then = [&at, one, then, worst, last](response& said) {
    last(said);
    finish_removal(at, one, *worst, then);
  };
  at.wire.send(all, one->session);
}

/// A request was answered by nobody: look for what it has left.
void remove_unknown(claim_environment& at, const standing_ref& one, const hearer& then) {
  const auto found = std::make_shared<std::vector<std::string>>();
  std::vector<tree::asked> all;
  all.push_back({sync(one->name_path), nullptr});
  for (const std::string& folder : at.words.folders_of(*one)) {
    all.push_back({children(folder), [&at, one, found, folder](response& said) {
                     for (const std::string_view child : said.names) {
                       if (at.words.owner_of(child) != one->claim.owner) continue;
                       found->push_back(below(folder, child));
                     }
                   }});
  }
  all.back().then = [&at, one, found, then, last = all.back().then](response& said) {
    last(said);
    if (said.ok() && found->empty()) said.what = response::result::missing;  // gone already
    if (said.cut_off() || found->empty()) return finish_removal(at, one, said, then);
    try {
      remove_each(at, one, *found, then);
    } catch (const error&) {
      response refused{.what = response::result::cut_off};
      finish_removal(at, one, refused, then);
    }
  };
  at.wire.send(all, one->session);
}

}  // namespace

void leave(claim_environment& at, const standing_ref& one, hearer then) {
  response nothing_there{.what = response::result::missing};
  bool unknown = false;
  std::vector<std::string> several;
  std::vector<tree::asked> all;
  {
    const seam::lock_guard guard{at.table.mutex};
    one->now = standing::phase::leaving;
    one->refused = false;
    ++one->ask;
    at.table.unwatch(one);
    one->go_on = nullptr;
    if (!then) then = std::exchange(one->left_later, nullptr);
    if (std::exchange(one->expects_news, false)) at.wire.expect_news(-1);
    // One that was forgotten has a successor of the same owner, who may use its very node.
    const bool successor = at.table.find(one->claim.owner) != one;
    if (successor) {
      // nothing of its own is left
    } else if (!one->sent || at.wire.now().session != one->session) {
      at.table.forget(one);
    } else if (one->replacing || (one->node.empty() && one->leases.empty())) {
      unknown = true;
    } else if (!one->leases.empty()) {
      several = one->leases;
    } else {
      all.push_back({at.words.removal_of(*one),
                     [&at, one, then](response& said) { finish_removal(at, one, said, then); }});
    }
  }
  response refused{.what = response::result::cut_off};
  try {
    if (unknown && at.words.remove_unknown(at, one, then)) return;
    if (unknown) return remove_unknown(at, one, then);
    if (!several.empty()) return remove_each(at, one, several, then);
    if (!all.empty()) return at.wire.send(all, one->session);
  } catch (const error&) {
    // It stays a claim that leaves: the next connection of this session removes it, or this one.
    {
      const seam::lock_guard guard{at.table.mutex};
      at.table.remove_later(one);
    }
    if (then) then(refused);
    return;
  }
  if (then) then(nothing_there);
}

}  // namespace crosslock::session
