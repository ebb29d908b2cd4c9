// Requests are arrays of bulk strings, written straight into the buffer that goes out. Every value
// travels as an argument of its own, so no name or text can be taken for anything else.
#include "engines/redis/protocol.hpp"

#include "engines/redis/slot.hpp"
#include "line_rules/line_rule.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <vector>

namespace crosslock::redis {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view line_end = "\r\n";
constexpr std::string_view side_begin = "crosslock:{";

void write_length(std::string& out, char mark, std::size_t length) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), length).ptr;
  out += mark;
  out.append(digits.data(), end);
  out += line_end;
}

void write_bulk(std::string& out, std::string_view bytes) {
  write_length(out, '$', bytes.size());
  out += bytes;
  out += line_end;
}

void write_side_key(std::string& out, std::string_view tag, std::string_view kind,
                    std::string_view name) {
  write_length(out, '$', side_begin.size() + tag.size() + 3 + kind.size() + name.size());
  out += side_begin;
  out += tag;
  out += "}:";
  out += kind;
  out += ':';
  out += name;
  out += line_end;
}

std::string_view key_count(key_set keys) noexcept {
  switch (keys) {
    case key_set::lock:
      return "2";
    case key_set::lock_shared:
      return "3";
    case key_set::cell:
      return "1";
  }
  return "0";
}

void write_keys(std::string& out, key_set keys, std::string_view name) {
  const std::string_view tag = tag_of(slot_of(name));
  if (keys == key_set::cell) return write_side_key(out, tag, "cell", name);
  write_bulk(out, name);
  write_side_key(out, tag, "fence", name);
  if (keys == key_set::lock_shared) write_side_key(out, tag, "pause", name);
}

/// The words of a message, one after another; the last one is all that is left.
class words {
 public:
  explicit words(std::string_view message) noexcept : rest_{message} {}

  std::string_view next() {
    const std::size_t space = rest_.find(' ');
    if (space == std::string_view::npos) throw make_error(errc::protocol, "a push is too short");
    const std::string_view word = rest_.substr(0, space);
    rest_.remove_prefix(space + 1);
    return word;
  }
  std::int64_t number() {
    const std::string_view digits = next();
    std::int64_t value = 0;
    const auto end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end) {
      throw make_error(errc::protocol, "a push has no number where one belongs");
    }
    return value;
  }
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

bool is_known_push(std::string_view what) noexcept {
  constexpr std::array known{"granted"sv, "look"sv, "wanted"sv, "revoked"sv, "cell"sv};
  return std::ranges::find(known, what) != known.end();
}

}  // namespace

void plain_command::write(std::string& out) const {
  write_length(out, '*', words_.size());
  for (const std::string_view word : words_) write_bulk(out, word);
}

script_call::script_call(const script& what, std::string_view name, key_set keys,
                         std::initializer_list<std::string_view> args) noexcept
    : what_{&what}, name_{name}, keys_{keys}, arg_count_{args.size()} {
  std::copy(args.begin(), args.end(), args_.begin());
}

void script_call::write(std::string& out) const {
  const std::string_view keys = key_count(keys_);
  write_length(out, '*', 3 + static_cast<std::size_t>(keys[0] - '0') + arg_count_);
  if (what_->only_reads) {
    write_bulk(out, by_text_ ? "EVAL_RO" : "EVALSHA_RO");
  } else {
    write_bulk(out, by_text_ ? "EVAL" : "EVALSHA");
  }
  write_bulk(out, by_text_ ? what_->text : what_->sha);
  write_bulk(out, keys);
  write_keys(out, keys_, name_);
  for (std::size_t i = 0; i < arg_count_; ++i) write_bulk(out, args_[i]);
}

std::string side_key(std::string_view kind, std::string_view name) {
  std::string key{side_begin};
  key += tag_of(slot_of(name));
  key += "}:";
  key += kind;
  key += ':';
  key += name;
  return key;
}

std::string_view name_in_side_key(std::string_view kind, std::string_view key) noexcept {
  const std::size_t prefix = side_begin.size() + tag_of(0).size() + 3 + kind.size();
  if (key.size() <= prefix || !key.starts_with(side_begin)) return {};
  const std::string_view name = key.substr(prefix);
  return key == side_key(kind, name) ? name : std::string_view{};
}

std::string channel_of(std::string_view client) { return "crosslock:to:" + std::string{client}; }

word word::owner(const owner_id& owner) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  word made;
  for (const std::uint8_t byte : owner.bytes()) {
    made.text_[made.length_++] = digits[byte >> 4];
    made.text_[made.length_++] = digits[byte & 15U];
  }
  return made;
}

word word::number(std::uint64_t value) noexcept {
  word made;
  const auto begin = made.text_.data();
  made.length_ =
      static_cast<std::size_t>(std::to_chars(begin, begin + made.text_.size(), value).ptr - begin);
  return made;
}

word word::fence(crosslock::fence token) noexcept {
  constexpr std::size_t width = 19;
  auto rest = static_cast<std::uint64_t>(std::max<std::int64_t>(token.value(), 0));
  word made;
  made.length_ = width;
  for (std::size_t index = width; index > 0; rest /= 10) {
    made.text_[--index] = static_cast<char>('0' + rest % 10);
  }
  return made;
}

word word::holder(const owner_id& owner, crosslock::fence token) noexcept {
  word made = word::owner(owner);
  const word digits = fence(token);
  made.text_[made.length_++] = ':';
  std::copy_n(digits.text_.begin(), digits.length_, made.text_.begin() + 33);
  made.length_ += digits.length_;
  return made;
}

word word::milliseconds(duration span) noexcept {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(span).count();
  return number(static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 1)));
}

std::string demand_word(const seam::claim& claim) {
  switch (claim.mode) {
    case claim_mode::exclusive:
      return seam::is_upgrade(claim) ? "u" : "x";
    case claim_mode::shared:
      return "s";
    case claim_mode::permit:
      return "p:" + std::to_string(claim.permits) + ':' + std::to_string(claim.of);
  }
  return "x";
}

duration span_of_milliseconds(std::int64_t count) noexcept {
  constexpr std::int64_t most = duration::max() / std::chrono::milliseconds{4};
  return std::chrono::milliseconds{std::clamp(count, -most, most)};
}

duration span_of_microseconds(std::int64_t count) noexcept {
  constexpr std::int64_t most = duration::max() / std::chrono::microseconds{4};
  return std::chrono::microseconds{std::clamp(count, -most, most)};
}

std::string asking_word(const seam::claim& claim, bool listens) {
  std::string demand = demand_word(claim);
  if (const auto grant = seam::beside(claim)) {
    demand += ':';
    demand += word::owner(*grant).view();
  }
  if (claim.wait) demand += listens ? '+' : '*';
  return demand;
}

push read_push(std::string_view message) {
  const std::string_view what = message.substr(0, message.find(' '));
  push news;
  if (!is_known_push(what)) {
    news.what = push::kind::unknown;
    return news;
  }
  words in{message};
  in.next();
  if (what == "cell") {
    news.what = push::kind::cell_changed;
  } else {
    const auto owner = owner_id::parse(in.next());
    if (!owner) throw make_error(errc::protocol, "a push names no owner");
    news.about.owner = *owner;
  }
  if (what == "granted") {
    news.what = push::kind::granted;
    news.about.ticket = in.number();
    news.about.first = fence{in.number()};
    news.about.last = last_of_block(news.about.first);
    news.about.lease = span_of_milliseconds(in.number());
    news.about.wanted = in.number() != 0;
  } else if (what == "wanted") {
    news.what = push::kind::wanted;
  } else if (what == "revoked") {
    news.what = push::kind::revoked;
  }
  try {
    news.about.name = std::make_shared<const lock_name>(lock_name::stored(in.rest()));
  } catch (const error&) {
    throw make_error(errc::protocol, "a push is about a name that is none");
  }
  return news;
}

fence last_of_block(fence first) noexcept {
  constexpr std::int64_t rest = seam::fence_block - 1;
  return first.value() > fence::max_value - rest ? fence{fence::max_value}
                                                 : fence{first.value() + rest};
}

bool name_is_due(fence first, duration lease, time_point now) noexcept {
  using std::chrono::hours;
  // Grants count from different moments, so that not all names are noted at the same one.
  const duration ours =
      now.time_since_epoch() + duration{first.value() % duration{hours{1}}.count()};
  // Rounded down: soon after boot the time of the last renewal may lie before zero.
  return std::chrono::floor<hours>(ours) != std::chrono::floor<hours>(ours - lease / 2);
}

}  // namespace crosslock::redis
