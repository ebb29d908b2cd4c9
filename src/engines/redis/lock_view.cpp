// The texts of holders and waiters are written by line.lua. A look only reads; whom serving the
// line would let in is worked out here, by the rule that the scripts restate.
#include "engines/redis/lock_view.hpp"

#include "engines/redis/failure.hpp"
#include "engines/redis/protocol.hpp"
#include "line_rules/line_rule.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr std::string_view shared_mark = "crosslock:shared";
constexpr std::int64_t no_key = -2;  // what PTTL answers
/// Beyond all reason, and still far from an overflow: in ms, and in us.
constexpr std::int64_t span_max = std::int64_t{1} << 40;
constexpr std::int64_t now_max = 9'000'000'000'000'000;

/// Words between spaces; the last one is all that is left.
class fields {
 public:
  explicit fields(std::string_view text) noexcept : rest_{text} {}

  std::string_view word() {
    const std::size_t space = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, space);
    rest_.remove_prefix(std::min(space + 1, rest_.size()));
    return found;
  }
  std::int64_t number() {
    const std::string_view digits = word();
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  std::string rest() const { return std::string{rest_}; }

 private:
  std::string_view rest_;
};

std::int32_t permits_in(std::string_view digits) noexcept {
  std::int32_t value = 1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// A demand as scripts write it: `x`, `u`, `s`, or `p:2:5`, two of five permits.
void read_demand(std::string_view word, claim_info& into) noexcept {
  if (word == "s") into.mode = claim_mode::shared;
  if (!word.starts_with("p:")) return;
  into.mode = claim_mode::permit;
  const std::size_t colon = std::min(word.find(':', 2), word.size() - 1);
  into.permits = permits_in(word.substr(2, colon - 2));
  into.of = permits_in(word.substr(colon + 1));
}

seam::demand demand_in(const claim_info& one) noexcept {
  return {.mode = one.mode, .permits = one.permits, .of = one.of};
}

/// Somebody in line, and what decides whether it goes in.
struct place {
  claim_info shown;
  std::string_view client;
  std::int64_t offer = 0;  ///< in ms
  std::int64_t ends = 0;   ///< in ms
  bool polls = false;
  std::optional<owner_id> beside;
};

/// The hash `wait`.
using wait_fields = std::map<std::string, std::string_view, std::less<>>;

place read_waiter(std::string_view text, std::string_view ticket, const wait_fields& wait,
                  std::int64_t now_us) {
  fields in{text};
  place one;
  const std::string owner{in.word()};
  one.shown.owner = owner_id::parse(owner).value_or(owner_id{});
  read_demand(in.word(), one.shown);
  in.word();  // lease
  one.offer = std::clamp<std::int64_t>(in.number(), 0, span_max);
  one.client = in.word();
  one.shown.who = in.rest();
  const std::int64_t since = fields{ticket}.number();
  one.shown.age = span_of_microseconds(now_us) - span_of_microseconds(since);
  one.ends = std::min(since, now_us) / 1000 + one.offer;
  if (const auto refreshed = wait.find(owner); refreshed != wait.end()) {
    one.ends = fields{refreshed->second}.number();
    one.polls = refreshed->second.ends_with(".5");
  }
  if (const auto beside = wait.find('u' + owner); beside != wait.end()) {
    one.beside = owner_id::parse(beside->second);
  }
  return one;
}

claim_info read_insider(std::string_view owner, std::string_view text, std::int64_t now_us) {
  fields in{text};
  claim_info one;
  one.owner = owner_id::parse(owner).value_or(owner_id{});
  read_demand(in.word(), one);
  one.lease_left = span_of_milliseconds(in.number()) - span_of_microseconds(now_us);
  one.age = span_of_microseconds(now_us) - span_of_microseconds(in.number());
  in.word();  // client
  one.fence = fence{in.number()};
  in.word();  // block
  in.word();  // ticket
  one.who = in.rest();
  return one;
}

/// The one holder of a name: ours, or of a library that shares the key with us.
claim_info read_holder(std::string_view value, std::int64_t rest_ms, std::string_view record,
                       std::int64_t now_us) {
  claim_info one;
  one.lease_left = rest_ms < 0 ? duration::max() : span_of_milliseconds(rest_ms);
  const std::size_t colon = value.find(':');
  const auto owner = owner_id::parse(value.substr(0, colon));
  if (owner && colon != std::string_view::npos) {
    one.owner = *owner;
    one.fence = fence{fields{value.substr(colon + 1)}.number()};
    // Behind the fence: that somebody waits, or the demand of one who is alone.
    const std::size_t behind = std::min(value.find(':', colon + 1), value.size() - 1);
    read_demand(value.substr(behind + 1), one);
    // The last block is followed by a mark, not by a space.
    fields in{record.substr(std::min<std::size_t>(record.size(), 20))};
    one.age = span_of_microseconds(now_us) - span_of_microseconds(in.number());
    in.word();  // ticket
    in.word();  // client
    one.who = in.rest();
  } else {
    one.owner = owner.value_or(owner_id{});
    one.foreign = true;
    one.who = "another library, value '" + std::string{value.substr(0, 64)} + "'";
  }
  return one;
}

/// What stands at a name and is no string: all that can be said of it.
claim_info read_stranger(std::string_view kind, std::int64_t rest_ms) {
  claim_info one;
  one.lease_left = rest_ms < 0 ? duration::max() : span_of_milliseconds(rest_ms);
  one.foreign = true;
  one.who = "another library, which keeps " + keeps(kind);
  return one;
}

/// Everything that look.lua tells of one name.
struct sight {
  std::int64_t now_us = 0;
  std::vector<claim_info> holders;
  std::vector<place> line;
  /// None where the server does not say who listens: then nothing is handed over.
  std::optional<std::set<std::string_view>> listening;
  std::int64_t last_block = 0;
  bool paused = false;
};

std::vector<claim_info> read_insiders(cursor& in, std::int64_t now_us) {
  std::vector<claim_info> inside;
  for (std::size_t count = in.array(); count > 1; count -= 2) {
    const std::string_view owner = in.text();
    inside.push_back(read_insider(owner, in.text(), now_us));
  }
  std::erase_if(inside, [](const claim_info& one) { return one.lease_left <= duration::zero(); });
  std::ranges::sort(inside, {}, &claim_info::fence);
  return inside;
}

std::vector<place> read_line(cursor& in, std::int64_t now_us) {
  std::vector<std::pair<std::string_view, std::string_view>> waiters(in.array() / 2);
  for (auto& [text, ticket] : waiters) {
    text = in.text();
    ticket = in.text();
  }
  wait_fields wait;
  for (std::size_t count = in.array(); count > 1; count -= 2) {
    const std::string_view field = in.text();
    wait.emplace(field, in.text());
  }
  std::vector<place> line;
  line.reserve(waiters.size());
  for (const auto& [text, ticket] : waiters) {
    line.push_back(read_waiter(text, ticket, wait, now_us));
  }
  std::erase_if(line, [&](const place& one) { return one.ends <= now_us / 1000; });
  return line;
}

std::optional<std::set<std::string_view>> read_listening(cursor& in) {
  if (in.kind() == reply::kind::integer) {
    in.skip();
    return std::nullopt;
  }
  std::set<std::string_view> clients;
  for (std::size_t count = in.array(); count > 0; --count) clients.insert(in.text());
  return clients;
}

sight read_sight(cursor& in) {
  sight seen;
  in.array();
  seen.now_us = std::clamp<std::int64_t>(in.digits(), 0, now_max);
  const std::string_view held = in.text();
  const std::int64_t rest_ms = in.number();
  const std::string_view record = in.text();
  seen.last_block = fields{record.substr(0, 19)}.number();
  seen.holders = read_insiders(in, seen.now_us);
  if (held != shared_mark) seen.holders.clear();  // left over
  // What another library has put there may be an empty text; PTTL knows whether there is a key.
  if (rest_ms != no_key && held != shared_mark) {
    seen.holders.push_back(read_holder(held, rest_ms, record, seen.now_us));
  }
  seen.line = read_line(in, seen.now_us);
  seen.listening = read_listening(in);
  seen.paused = in.number() > 0;
  if (!in.done()) seen.holders = {read_stranger(in.text(), rest_ms)};
  return seen;
}

/// The first fence of the next block, as line.lua counts; none when there are no more.
std::optional<fence> next_fence(sight& seen) noexcept {
  if (seen.last_block > fence::max_value - seam::fence_block) return std::nullopt;
  const std::int64_t least = seen.last_block == 0 ? 0 : seen.last_block + seam::fence_block;
  seen.last_block = std::max(least, seen.now_us * 1000);
  return fence{seen.last_block};
}

bool is_shared_by(const std::vector<claim_info>& holders, const std::optional<owner_id>& owner) {
  return owner && std::ranges::any_of(holders, [&](const claim_info& one) {
           return one.owner == *owner && one.mode == claim_mode::shared;
         });
}

/// What serving the line would give: `serve` of line.lua, which nobody but scripts that write runs.
lock_info serve(sight seen, std::string name) {
  lock_info info{.name = std::move(name), .holders = std::move(seen.holders), .line = {}};
  seam::line_so_far before;
  for (const claim_info& one : info.holders) before.add(demand_in(one));
  bool open = !seen.paused;
  for (place& one : seen.line) {
    open = open && !before.closed();
    const seam::demand wanted = demand_in(one.shown);
    const bool reached = one.polls || (seen.listening && seen.listening->contains(one.client));
    const bool goes_in =
        open && reached && before.admits(wanted, is_shared_by(info.holders, one.beside));
    if (reached || !seen.listening) before.add(wanted);
    const auto first = goes_in ? next_fence(seen) : std::nullopt;
    open = open && first.has_value() == goes_in;
    if (first) {
      one.shown.age = {};
      one.shown.lease_left = span_of_milliseconds(one.offer);
      one.shown.fence = *first;
    }
    (first ? info.holders : info.line).push_back(std::move(one.shown));
  }
  return info;
}

}  // namespace

lock_info read_lock_view(std::string name, const reply& said) {
  cursor in{said};
  return serve(read_sight(in), std::move(name));
}

void read_renewal(const reply& said, seam::renewal& into) {
  using result = seam::renewal::result;
  into.outcome = result::unknown;
  if (said.failed()) return;
  cursor in{said};
  bool wanted = false;
  fence more;
  if (in.kind() != reply::kind::integer) {  // the quick way: nobody waits
    in.array();
    if (in.number() == 0) {
      into.outcome = result::lost;
      return;
    }
    wanted = in.number() != 0;
    const std::string_view block = in.text();
    if (!block.empty()) more = fence{fields{block}.number()};
  }
  into.outcome = result::renewed;
  into.granted_lease = into.lease;
  into.wanted = wanted;
  into.more_first = more;
  into.more_last = more.value() == 0 ? fence{} : last_of_block(more);
}

}  // namespace crosslock::redis
