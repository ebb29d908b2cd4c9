// libFuzzer target for every byte that comes from a Redis server: replies, however they are cut
// into pieces, what is read out of them, pushes, and INFO. Each is understood, or is the error
// `protocol`. Anything else aborts.
#include "engines/redis/lock_view.hpp"
#include "engines/redis/protocol.hpp"
#include "engines/redis/reply.hpp"
#include "engines/redis/server_check.hpp"

#include <crosslock/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace crosslock;
using redis::cursor;
using redis::reply;

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// False when the bytes were no answer.
template <class Fn>
bool understands(Fn fn) {
  try {
    fn();
    return true;
  } catch (const error& failure) {
    require(failure.which() == errc::protocol, "the error is the documented one");
    return false;
  }
}

/// Walks over one value and everything in it; what is left has to be nothing.
void walk(cursor& in, std::string& seen) {
  switch (in.kind()) {
    case reply::kind::array: {
      const std::size_t count = in.array();
      seen += '*' + std::to_string(count);
      for (std::size_t i = 0; i < count; ++i) walk(in, seen);
      return;
    }
    case reply::kind::integer:
      seen += ':' + std::to_string(in.number());
      return;
    case reply::kind::text:
      seen += '$';
      seen += in.text();
      return;
    default:
      seen += '?';
      in.skip();
  }
}

void use(const reply& said) {
  understands([&] { (void)redis::read_lock_view("name", said); });
  seam::renewal renewal;
  understands([&] { redis::read_renewal(said, renewal); });
  understands([&] { (void)cursor{said}.digits(); });
  if (said.failed()) (void)redis::error_in(said.failure(), "server", "name");
}

/// All replies in the bytes, written down; and whether they ended in nonsense.
std::string read_in_pieces(std::string_view bytes, std::size_t piece, bool use_them) {
  std::string seen;
  const bool good = understands([&] {
    redis::parser parser;
    reply found;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      parser.feed({bytes.data(), std::min(piece, bytes.size())});
      while (parser.next(found)) {
        cursor in{found};
        walk(in, seen);
        require(in.done(), "a reply has as many values as it says");
        seen += '\n';
        if (use_them) use(found);
      }
    }
  });
  return seen + (good ? "." : "!");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const std::string whole = read_in_pieces(text, std::max<std::size_t>(size, 1), true);
  const std::size_t piece = size == 0 ? 1 : 1 + data[size - 1] % 7;
  require(read_in_pieces(text, piece, false) == whole, "it does not matter how bytes arrive");
  understands([&] { (void)redis::read_push(text); });
  (void)redis::judge_server(redis::read_info(text), false);
  return 0;
}
