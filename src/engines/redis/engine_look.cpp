// Inspection, receipts, and cells.
#include "engines/redis/engine.hpp"
#include "engines/redis/lock_view.hpp"
#include "engines/redis/running.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr std::size_t looks_at_once = 256;
/// The index of names in use (line.lua), and how much of it is read at once.
constexpr std::string_view names_key = "crosslock:{names}";
constexpr std::size_t names_at_once = 1000;

/// How long the end of a client may take to clear up behind it; the rest ends by itself.
constexpr duration clear_up_within = std::chrono::milliseconds{100};

/// What HMGET says of a cell, of which anything may be missing.
seam::cell read_stored_cell(const reply& said) {
  cursor in{said};
  in.array();
  seam::cell found;
  if (in.kind() == reply::kind::text) {
    found.version = static_cast<std::uint64_t>(in.digits());
  } else {
    in.skip();
  }
  if (in.kind() == reply::kind::text) {
    found.highest = fence{in.digits()};
  } else {
    in.skip();
  }
  if (in.kind() == reply::kind::text) found.value = in.text();
  return found;
}

seam::cell read_cell_parts(cursor& in) {
  seam::cell found;
  found.version = static_cast<std::uint64_t>(in.digits());
  found.highest = fence{in.digits()};
  found.value = in.text();
  return found;
}

}  // namespace

std::optional<seam::grant> engine::adopt(const seam::grant& detached, const seam::claim& next,
                                         time_point give_up) {
  seam::refuse_lease(traits_, next.lease);
  const word old_owner = word::owner(detached.owner);
  const word token = word::fence(detached.first);
  const word owner = word::owner(next.owner);
  std::string lease{word::milliseconds(next.lease).view()};
  lease += ' ';
  lease += demand_word(next).front();
  const time_point sent = clock_.now();
  return run({scripts().adopt,
              next.name->view(),
              keys_,
              {old_owner.view(), token.view(), owner.view(), lease, self_}},
             next.name->view(), give_up, [&](const reply& said) -> std::optional<seam::grant> {
               cursor in{said};
               in.array();
               if (in.number() == 0) return std::nullopt;
               const fence first{in.digits()};
               const bool wanted = in.number() != 0;
               return make_grant(next.name, next.owner, first, next.lease, sent, wanted);
             });
}

bool engine::break_lock(const lock_name& name, owner_id owner, time_point give_up) {
  const word whom = word::owner(owner);
  return run({scripts().break_lock, name.view(), keys_, {whom.view()}}, name.view(), give_up,
             [](const reply& said) { return cursor{said}.number() == 1; });
}

lock_info engine::look(const lock_name& name, time_point give_up) {
  return run({scripts().look, name.view(), keys_, {}}, name.view(), give_up,
             [&](const reply& said) { return read_lock_view(name.str(), said); });
}

std::vector<lock_info> engine::list(std::string_view prefix, time_point give_up) {
  const std::vector<std::string> ordered = names_in_use(prefix, give_up);
  std::vector<lock_info> infos;
  for (std::span<const std::string> rest{ordered}; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), looks_at_once));
    rest = rest.subspan(some.size());
    for (lock_info& info : look_at(some, give_up)) {
      if (!info.holders.empty() || !info.line.empty()) infos.push_back(std::move(info));
    }
  }
  return infos;
}

std::vector<std::string> engine::names_in_use(std::string_view prefix, time_point give_up) {
  std::set<std::string> names;
  const std::string many = std::to_string(names_at_once);
  // By score: a name that is noted meanwhile moves behind, and shifts nobody past the next page.
  std::string from = "-inf";
  for (std::size_t found = names_at_once; found == names_at_once;) {
    const auto answers =
        connection_.call(plain_command{"ZRANGE", names_key, from, "+inf", "BYSCORE", "LIMIT", "0",
                                       many, "WITHSCORES"},
                         give_up);
    if (answers[0].failed()) refuse(answers[0].failure(), names_key);
    cursor in{answers[0]};
    found = in.array() / 2;
    std::string last;
    for (std::size_t left = found; left > 0; --left) {
      const std::string_view name = name_in_side_key("fence", in.text());
      if (!name.empty() && name.starts_with(prefix)) names.emplace(name);
      last = in.text();
    }
    from = last == from ? '(' + last : last;  // those of one score may lie on both pages
  }
  return {names.begin(), names.end()};
}

std::vector<lock_info> engine::look_at(std::span<const std::string> names, time_point give_up) {
  const auto write = [&](std::string& out) {
    for (const std::string& name : names) {
      script_call{scripts().look, name, keys_, {}}.write(out);
    }
  };
  const auto answers = connection_.call_all(names.size(), write, give_up);
  std::vector<lock_info> infos;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (script_unknown(answers[i])) {
      infos.push_back(look(lock_name::stored(names[i]), give_up));
    } else if (answers[i].failed()) {
      refuse(answers[i].failure(), names[i]);
    } else {
      infos.push_back(read_lock_view(names[i], answers[i]));
    }
  }
  return infos;
}

seam::cell engine::read_cell(const lock_name& name, time_point give_up) {
  const std::string key = side_key("cell", name.view());
  const auto answers =
      connection_.call(plain_command{"HMGET", key, "version", "highest", "value"}, give_up);
  if (answers[0].failed()) refuse(answers[0].failure(), name.view());
  return read_stored_cell(answers[0]);
}

seam::cell engine::watch_cell(const lock_name& name, duration span, time_point give_up) {
  if (!traits_.watches_cells) return read_cell(name, give_up);
  const duration capped = std::min<duration>(span, std::chrono::hours{1});
  const time_point now = clock_.now();
  cells_.note(name, now + capped, now);
  const word length = word::milliseconds(capped);
  return run({scripts().watch_cell, name.view(), key_set::cell, {client_, length.view()}},
             name.view(), give_up, read_stored_cell);
}

/// So that nothing of it stays on the server.
void engine::end_watches() noexcept {
  try {
    const time_point now = clock_.now();
    for (const seam::name_ref& cell : cells_.all(now)) {
      const std::string key = side_key("watch", cell->view());
      connection_.call(plain_command{"ZREM", key, client_}, now + clear_up_within);
    }
  } catch (const std::exception&) {
    // Each has an end.
  }
}

seam::swap_answer engine::swap_cell(const seam::cell_swap& wanted, time_point give_up) {
  using result = seam::swap_answer::result;
  seam::refuse_long_value(traits_.name, wanted);
  const word expected = word::number(wanted.expected);
  const word writer = word::owner(wanted.writer);
  const word token = word::fence(wanted.token);
  return run(
      {scripts().swap_cell,
       wanted.name->view(),
       key_set::cell,
       {expected.view(), wanted.value, writer.view(), token.view(), wanted.erase ? "1" : "0"}},
      wanted.name->view(), give_up, [](const reply& said) {
        cursor in{said};
        in.array();
        const std::string_view word = in.text();
        seam::swap_answer answer;
        answer.outcome = word == "swapped"   ? result::swapped
                         : word == "changed" ? result::changed
                                             : result::shut_out;
        answer.now = read_cell_parts(in);
        return answer;
      });
}

std::optional<seam::cell> engine::open_cell(const lock_name& name, fence token,
                                            time_point give_up) {
  const word shown = word::fence(token);
  return run({scripts().open_cell, name.view(), key_set::cell, {shown.view()}}, name.view(),
             give_up, [](const reply& said) -> std::optional<seam::cell> {
               cursor in{said};
               in.array();
               if (in.number() == 0) return std::nullopt;
               return read_cell_parts(in);
             });
}

}  // namespace crosslock::redis
