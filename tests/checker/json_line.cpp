// One event as one flat JSON object. Strict on reading: an unknown member, a missing quote or a
// number out of range is an error, because a misread history proves nothing.
#include "checker/history.hpp"
#include "checker/names.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace crosslock::checker {
namespace {

/// The length of the valid UTF-8 sequence that begins at `at`; 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || at + length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  if ((first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xed && byte(at + 1) > 0x9f) ||
      (first == 0xf0 && byte(at + 1) < 0x90) || (first == 0xf4 && byte(at + 1) > 0x8f)) {
    return 0;
  }
  return length;
}

void put_escape(std::string& out, unsigned code) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += digits[(code >> shift) & 0xfU];
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      put_escape(out, 0xdc00U + c);
    } else if (c < 0x20 || c == 0x7f) {
      put_escape(out, c);
    } else {
      if (c == '"' || c == '\\') {
        out += '\\';
      }
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

void put_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | (code >> 6));
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | (code >> 12));
    put(0x80U | ((code >> 6) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | (code >> 18));
    put(0x80U | ((code >> 12) & 0x3fU));
    put(0x80U | ((code >> 6) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

class parser {
 public:
  explicit parser(std::string_view text) : text_{text} {}

  event read() {
    event e;
    expect('{');
    if (!accept('}')) {
      do {
        const std::string name = string();
        expect(':');
        member(e, name);
      } while (accept(','));
      expect('}');
    }
    skip_space();
    if (at_ != text_.size()) {
      fail("something after the object");
    }
    return e;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at byte " + std::to_string(at_));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      fail(std::string{"expected "} + c);
    }
  }

  char next() {
    if (at_ == text_.size()) {
      fail("unfinished string");
    }
    return text_[at_++];
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const std::size_t digit = std::string_view{"0123456789abcdef"}.find(
          c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
      if (digit == std::string_view::npos) {
        fail("bad \\u escape");
      }
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return code;
  }

  void unicode(std::string& out) {
    const unsigned code = hex4();
    if (code >= 0xdc80 && code <= 0xdcff) {
      out += static_cast<char>(code - 0xdc00);
    } else if (code >= 0xd800 && code < 0xdc00) {
      if (next() != '\\' || next() != 'u') {
        fail("half a surrogate pair");
      }
      const unsigned low = hex4();
      if (low < 0xdc00 || low > 0xdfff) {
        fail("half a surrogate pair");
      }
      put_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
    } else {
      put_utf8(out, code);
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view from = "\"\\/bfnrt";
    constexpr std::string_view to = "\"\\/\b\f\n\r\t";
    const char c = next();
    if (c == 'u') {
      return unicode(out);
    }
    const std::size_t found = from.find(c);
    if (found == std::string_view::npos) {
      fail("bad escape");
    }
    out += to[found];
  }

  std::string string() {
    expect('"');
    std::string out;
    for (char c = next(); c != '"'; c = next()) {
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
    return out;
  }

  template <typename Int>
  Int number() {
    skip_space();
    Int value{};
    const char* const begin = text_.data() + at_;
    const auto [end, wrong] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (wrong != std::errc{}) {
      fail("expected an integer in range");
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  template <typename Int>
  bool number_into(std::string_view wanted, std::string_view name, Int& to) {
    if (name == wanted) to = number<Int>();
    return name == wanted;
  }

  bool text_into(std::string_view wanted, std::string_view name, std::string& to) {
    if (name == wanted) to = string();
    return name == wanted;
  }

  template <typename Enum, std::size_t N>
  bool word_into(std::string_view wanted, std::string_view name, Enum& to,
                 const name_table<Enum, N>& table) {
    if (name != wanted) return false;
    const std::string text = string();
    const auto value = value_of(table, text);
    if (!value) fail("unknown word " + text);
    to = *value;
    return true;
  }

  void member(event& e, const std::string& name) {
    if (number_into("t", name, e.t) || number_into("proc", name, e.proc) ||
        number_into("thr", name, e.thr) || number_into("k", name, e.permits) ||
        number_into("n", name, e.of) || number_into("token", name, e.token) ||
        number_into("D", name, e.deadline) || number_into("sent", name, e.sent) ||
        number_into("lease", name, e.lease) || word_into("ph", name, e.ph, phase_names) ||
        word_into("f", name, e.f, action_names) || word_into("mode", name, e.mode, mode_names) ||
        word_into("kind", name, e.kind, fault_names) || text_into("lock", name, e.lock) ||
        text_into("req", name, e.req) || text_into("err", name, e.err)) {
      return;
    }
    if (name != "value") {
      fail("unknown member " + name);
    }
    e.value = number<std::int64_t>();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_json(const event& e) {
  std::string out = "{\"t\":" + std::to_string(e.t);
  const auto number = [&](std::string_view name, std::int64_t value, std::int64_t usual) {
    if (value != usual) {
      out.append(",\"").append(name).append("\":").append(std::to_string(value));
    }
  };
  const auto text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) {
      out.append(",\"").append(name).append("\":").append(quoted(value));
    }
  };
  out.append(",\"proc\":").append(std::to_string(e.proc));
  number("thr", e.thr, 0);
  text("ph", to_string(e.ph));
  text("f", to_string(e.f));
  text("kind", to_string(e.kind));
  text("lock", e.lock);
  if (!e.lock.empty() || e.mode != claim_mode::exclusive) {
    text("mode", name_of(mode_names, e.mode));
  }
  number("k", e.permits, 1);
  number("n", e.of, 1);
  text("req", e.req);
  number("token", e.token, 0);
  number("D", e.deadline, 0);
  number("sent", e.sent, 0);
  number("lease", e.lease, 0);
  if (e.value) {
    out.append(",\"value\":").append(std::to_string(*e.value));
  }
  text("err", e.err);
  return out + '}';
}

event from_json(std::string_view line) { return parser{line}.read(); }

}  // namespace crosslock::checker
