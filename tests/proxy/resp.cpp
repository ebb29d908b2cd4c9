// A reader that begins anew whenever more has come: messages of tests are small.
#include "proxy/resp.hpp"

#include "proxy/framing.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace crosslock::proxy {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr int depth_max = 16;

class reader {
 public:
  explicit reader(std::string_view bytes) : bytes_{bytes} {}

  std::optional<resp_value> value(int depth = 0) {
    if (depth > depth_max) throw std::runtime_error{"RESP nested too deeply"};
    const auto first = line();
    if (!first) return std::nullopt;
    if (first->empty()) throw std::runtime_error{"an empty line is no RESP"};
    resp_value made;
    made.type = first->front();
    switch (made.type) {
      case '$':
      case '=':
        return bulk(std::move(made), number(first->substr(1)));
      case '*':
      case '~':
      case '>':
        return items(std::move(made), number(first->substr(1)), depth);
      case '%':
        return items(std::move(made), 2 * number(first->substr(1)), depth);
      case '+':
      case '-':
      case ':':
      case '_':
      case '#':
      case ',':
      case '(':
        made.text = first->substr(1);
        made.null = made.type == '_';
        return made;
      default:
        throw std::runtime_error{"no RESP begins like this"};
    }
  }
  std::size_t used() const noexcept { return used_; }

 private:
  std::optional<std::string_view> line() {
    const std::size_t end = bytes_.find(line_end, used_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = bytes_.substr(used_, end - used_);
    used_ = end + line_end.size();
    return found;
  }
  static long number(std::string_view text) {
    long value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size()) {
      throw std::runtime_error{"a RESP length that is no number"};
    }
    return value;
  }
  std::optional<resp_value> bulk(resp_value made, long length) {
    made.null = length < 0;
    if (made.null) return made;
    const auto size = static_cast<std::size_t>(length);
    if (bytes_.size() - used_ < size + line_end.size()) return std::nullopt;
    made.text = bytes_.substr(used_, size);
    used_ += size + line_end.size();
    return made;
  }
  std::optional<resp_value> items(resp_value made, long count, int depth) {
    made.null = count < 0;
    for (long i = 0; i < count; ++i) {
      auto item = value(depth + 1);
      if (!item) return std::nullopt;
      made.items.push_back(*std::move(item));
    }
    return made;
  }

  const std::string_view bytes_;
  std::size_t used_ = 0;
};

bool is_one_of(std::string word, std::initializer_list<std::string_view> words) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> words_of(const resp_value& value) {
  std::vector<std::string> words;
  for (const resp_value& each : value.items) words.push_back(each.text);
  return words;
}

}  // namespace

std::optional<std::pair<resp_value, std::size_t>> parse_resp(std::string_view bytes) {
  reader from{bytes};
  auto value = from.value();
  if (!value) return std::nullopt;
  return std::pair{*std::move(value), from.used()};
}

std::string resp_request(const std::vector<std::string>& words) {
  std::string text = '*' + std::to_string(words.size()) + "\r\n";
  for (const std::string& each : words) {
    text.append("$").append(std::to_string(each.size())).append(line_end);
    text.append(each).append(line_end);
  }
  return text;
}

std::optional<frame> resp_framing(way going, bool subscription, std::string_view bytes) {
  try {
    const auto found = parse_resp(bytes);
    if (!found) return std::nullopt;
    const auto& [value, size] = *found;
    frame made{.bytes = size, .words = words_of(value)};
    if (made.words.empty()) return made;
    if (going == way::to_server) {
      made.subscribes = is_one_of(made.words[0], {"subscribe", "psubscribe", "ssubscribe"});
      if (made.subscribes) made.answers = made.words.size() - 1;
    } else {
      made.push = (subscription || value.type == '>') &&
                  is_one_of(made.words[0], {"message", "pmessage", "smessage"});
    }
    return made;
  } catch (const std::runtime_error&) {
    return raw_framing(going, subscription, bytes);
  }
}

std::optional<frame> raw_framing(way, bool, std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  return frame{.bytes = bytes.size()};
}

}  // namespace crosslock::proxy
