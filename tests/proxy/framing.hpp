// Where one message ends and the next begins: the only thing that the proxy knows of a protocol.
#pragma once

#include "proxy/rule.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::proxy {

struct frame {
  std::size_t bytes = 0;
  std::vector<std::string> words{};  ///< what a request, or a push, says
  std::size_t answers = 1;           ///< of a request: how many there will be
  bool subscribes = false;           ///< of a request: pushes may follow from now on
  bool push = false;                 ///< of an answer: it is none
  /// A request and its answers have the same; one answers the oldest that has its label.
  std::int64_t label = 0;
};

/// The first message of `bytes`; empty when not all of it has come. `subscription`: the connection
/// has asked for pushes. Bytes that make no sense are one message.
using framing =
    std::function<std::optional<frame>(way going, bool subscription, std::string_view bytes)>;

/// Redis.
std::optional<frame> resp_framing(way going, bool subscription, std::string_view bytes);
/// ZooKeeper. Words: what is asked for as jute.hpp calls it, where, and "watch" if it watches; of a
/// multi this for each of its parts; of a push "event", what has happened, and where. Every
/// connection counts as one for pushes from its handshake on.
std::optional<frame> jute_framing(way going, bool greeted, std::string_view bytes);
/// Any protocol: whatever has come is a message; nothing is known about answers.
std::optional<frame> raw_framing(way going, bool subscription, std::string_view bytes);

}  // namespace crosslock::proxy
