#include "engines/zookeeper/protocol.hpp"

#include "engine/claim.hpp"

#include <zookeeper/zookeeper.h>

#include <charconv>
#include <utility>

namespace crosslock::zookeeper {
namespace {

constexpr std::string_view signature = "crosslock/1";
constexpr int fence_bits = 12;
static_assert(seam::fence_block == std::int64_t{1} << fence_bits);

/// What the numbers mean to people who have not read zookeeper.h.
std::string reason(int code) { return zerror(code); }

template <class Number>
Number number_in(std::string_view text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

response::result result_of(int code) noexcept {
  switch (code) {
    case ZOK:
      return response::result::done;
    case ZNONODE:
      return response::result::missing;
    case ZNODEEXISTS:
      return response::result::exists;
    case ZBADVERSION:
      return response::result::changed;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZCLOSING:
    case ZINVALIDSTATE:
    // What the library says of everything that was under way when it could not go on.
    case ZRUNTIMEINCONSISTENCY:
    case ZSYSTEMERROR:
    case ZMARSHALLINGERROR:
    case ZAUTHFAILED:
      return response::result::cut_off;
    default:
      return response::result::refused;
  }
}

error make_error(errc code, const std::string& text, int native, bool outcome_unknown) {
  return {code,
          text,
          {.engine = "zookeeper", .native_code = native, .outcome_unknown = outcome_unknown}};
}

error error_in(const response& said, const std::string& what, const std::string& server) {
  // What could not be sent has no number of the library's.
  const int code = said.code == ZOK && said.cut_off() ? ZCONNECTIONLOSS : said.code;
  const std::string text = server + ": cannot " + what + ": " + reason(code);
  if (said.cut_off()) return make_error(errc::unreachable, text, code, true);
  switch (said.code) {
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
      return make_error(errc::denied,
                        text +
                            "; give a user and password in the URL that may create and delete "
                            "there, or change the node's ACL",
                        said.code);
    case ZNOCHILDRENFOREPHEMERALS:
      return make_error(errc::conflict,
                        text +
                            "; an ephemeral node has that path: strategy=single, or somebody "
                            "else's",
                        said.code);
    case ZTHROTTLEDOP:
    case ZNOTREADONLY:
      return make_error(errc::unreachable, text, said.code);
    default:
      return make_error(errc::protocol, text, said.code);
  }
}

std::string shorter_than_asked(const std::string& server, duration asked, duration given) {
  const auto ms = [](duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count()) +
           " ms";
  };
  return server + " gives sessions of " + ms(given) + ", and not of " + ms(asked) +
         ": holds end that soon without a connection; raise the servers' maxSessionTimeout, or ask "
         "for less (session=)";
}

fence fence_of(std::int64_t transaction, std::string_view name) {
  if (transaction <= 0 || transaction > (fence::max_value >> fence_bits)) {
    throw make_error(errc::fence_exhausted,
                     "'" + std::string{name} + "': the transaction number " +
                         std::to_string(transaction) +
                         " of the ensemble leaves no room for fences; use a new ensemble");
  }
  return fence{transaction << fence_bits};
}

fence last_of_block(fence first) noexcept { return fence{first.value() + seam::fence_block - 1}; }

std::string inscribe(const inscription& words) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(words.session).count();
  std::string text{signature};
  text += " session=" + std::to_string(ms);
  if (words.token != 0) text += " fence=" + std::to_string(words.token);
  if (words.of != 0) text += " of=" + std::to_string(words.of);
  if (!words.beside.empty()) text += " beside=" + words.beside;
  if (!words.mark.empty()) text += " owner=" + words.mark;
  text += " who=";
  text += words.who;
  return text;
}

std::optional<inscription> read_inscription(std::string_view data) {
  if (!data.starts_with(signature)) return std::nullopt;
  data.remove_prefix(signature.size());
  inscription words;
  while (data.starts_with(' ')) {
    data.remove_prefix(1);
    const std::size_t equals = data.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view key = data.substr(0, equals);
    data.remove_prefix(equals + 1);
    if (key == "who") {  // the last one; it may contain spaces
      words.who = data;
      break;
    }
    const std::string_view value = data.substr(0, data.find(' '));
    data.remove_prefix(value.size());
    if (key == "session") words.session = std::chrono::milliseconds{number_in<std::int64_t>(value)};
    if (key == "fence") words.token = number_in<std::int64_t>(value);
    if (key == "of") words.of = number_in<std::int32_t>(value);
    if (key == "owner") words.mark = value;
    if (key == "beside") words.beside = value;
  }
  return words;
}

}  // namespace crosslock::zookeeper
