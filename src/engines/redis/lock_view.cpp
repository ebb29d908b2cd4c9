// The texts of holders and waiters are written by line.lua.
#include "engines/redis/lock_view.hpp"

#include "engines/redis/failure.hpp"
#include "engines/redis/protocol.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace crosslock::redis {
namespace {

constexpr std::string_view shared_mark = "crosslock:shared";
constexpr std::int64_t no_key = -2;  // what PTTL answers

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

claim_info read_waiter(std::string_view ticket, std::string_view text, std::int64_t now_us) {
  fields in{text};
  claim_info one;
  one.owner = owner_id::parse(in.word()).value_or(owner_id{});
  read_demand(in.word(), one);
  one.age = span_of_microseconds(now_us) - span_of_microseconds(fields{ticket}.number());
  in.word();  // lease
  in.word();  // offer
  in.word();  // client
  one.who = in.rest();
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

}  // namespace

lock_info read_lock_view(std::string name, const reply& said) {
  lock_info info{.name = std::move(name), .holders = {}, .line = {}};
  cursor in{said};
  in.array();
  const std::int64_t now_us = in.digits();
  const std::string_view held = in.text();
  const std::int64_t rest_ms = in.number();
  const std::string_view record = in.text();
  for (std::size_t count = in.array(); count > 1; count -= 2) {
    const std::string_view owner = in.text();
    info.holders.push_back(read_insider(owner, in.text(), now_us));
  }
  std::ranges::sort(info.holders, {}, &claim_info::fence);
  // What another library has put there may be an empty text; PTTL knows whether there is a key.
  if (rest_ms != no_key && held != shared_mark) {
    info.holders.push_back(read_holder(held, rest_ms, record, now_us));
  }
  for (std::size_t count = in.array(); count > 1; count -= 2) {
    const std::string_view ticket = in.text();
    info.line.push_back(read_waiter(ticket, in.text(), now_us));
  }
  if (!in.done()) info.holders = {read_stranger(in.text(), rest_ms)};
  return info;
}

void read_renewal(const reply& said, seam::renewal& into) {
  using result = seam::renewal::result;
  into.outcome = result::unknown;
  if (said.failed()) return;
  cursor in{said};
  bool wanted = false;
  fence more;
  if (in.kind() == reply::kind::integer) {
    wanted = in.number() == 2;
  } else {
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
