// The names of the messages and the one formula both sides must agree on.
#include "engines/memory/protocol.hpp"

namespace crosslock::memory {

std::string_view to_string(verb what) noexcept {
  switch (what) {
    case verb::ask:
      return "ask";
    case verb::withdraw:
      return "withdraw";
    case verb::renew:
      return "renew";
    case verb::release:
      return "release";
    case verb::adopt:
      return "adopt";
    case verb::break_lock:
      return "break_lock";
    case verb::look:
      return "look";
    case verb::list:
      return "list";
    case verb::read_cell:
      return "read_cell";
    case verb::swap_cell:
      return "swap_cell";
    case verb::open_cell:
      return "open_cell";
  }
  return "unknown";
}

seam::pushed_grant grant_in(const push& news) {
  return {.name = news.name,
          .owner = news.owner,
          .ticket = news.ticket,
          .first = news.offer.first,
          .last = news.offer.last,
          .lease = news.offer.lease,
          .wanted = news.offer.wanted};
}

error make_error(errc code, const std::string& text, bool outcome_unknown) {
  return error{code,
               "memory: " + text,
               {.engine = "memory", .native_code = 0, .outcome_unknown = outcome_unknown}};
}

}  // namespace crosslock::memory
