#include "engines/redis/examination.hpp"

#include "engines/redis/engine.hpp"
#include "engines/redis/server_check.hpp"
#include "engines/redis/server_login.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace crosslock::redis {
namespace {

using seam::severity;
using namespace std::chrono_literals;

/// So many requests one after another show what is usual.
constexpr std::size_t round_trips = 15;
/// A difference that people should know of.
constexpr duration clocks_agree = 2s;

/// 1234 us is "1.23 ms".
std::string in_milliseconds(duration span) {
  const auto hundredths = std::to_string(span / 10us);
  const std::string padded =
      std::string(hundredths.size() < 3 ? 3 - hundredths.size() : 0, '0') + hundredths;
  return padded.substr(0, padded.size() - 2) + '.' + padded.substr(padded.size() - 2) + " ms";
}

class visitor {
 public:
  visitor(const address& where, seam::clock& clock, time_point give_up)
      : where_{where},
        clock_{clock},
        give_up_{give_up},
        stream_{stream::connect(where, clock, give_up)} {
    introduce(*stream_, parser_, where, give_up);
  }

  std::vector<seam::finding> all(bool eviction_allowed) {
    const server_info info = read_info(ask_for_info(*stream_, parser_, where_, give_up_));
    found_ = judge_server(info, eviction_allowed);
    look_at_disk(info.append_only.value_or(false) ? "appendfsync" : "save");
    look_at_way();
    look_at_times();
    look_at_rights();
    std::ranges::stable_sort(found_, std::greater<>{}, &seam::finding::weight);
    return std::move(found_);
  }

 private:
  void say(severity weight, const char* topic, std::string text) {
    found_.push_back({weight, topic, std::move(text), errc{}});
  }
  const reply& ask(const command& what) {
    exchange(*stream_, parser_, where_, what, answer_, give_up_);
    return answer_;
  }

  /// Not in INFO; and few users may ask for it.
  void look_at_disk(std::string_view setting) {
    if (ask(plain_command{"CONFIG", "GET", setting}).failed()) return;
    cursor in{answer_};
    if (in.array() != 2) return;
    in.text();
    const std::string value{in.text()};
    say(severity::note, "persistence",
        std::string{setting} + " is " + (value.empty() ? "empty: no snapshots are made" : value));
  }

  void look_at_way() {
    if (where_.tls) {
      say(severity::note, "way",
          "by TLS; the server's certificate is for '" + where_.certified_name() +
              "' and from an authority we trust");
    } else if (is_local(where_)) {
      say(severity::note, "way", "not encrypted, and on this machine");
    } else {
      say(severity::warning, "way",
          "not encrypted: whoever can read or change what travels there can take locks away; "
          "rediss:// is encrypted");
    }
  }

  void look_at_times() {
    std::array<duration, round_trips> taken{};
    for (duration& one : taken) {
      const time_point before = clock_.now();
      if (ask(plain_command{"TIME"}).failed()) return;
      one = clock_.now() - before;
    }
    timespec here{};
    ::clock_gettime(CLOCK_REALTIME, &here);
    compare_clocks(std::chrono::seconds{here.tv_sec} + duration{here.tv_nsec});
    std::ranges::sort(taken);
    say(severity::note, "round trip",
        in_milliseconds(taken[round_trips / 2]) + " usually, " + in_milliseconds(taken.back()) +
            " the longest of " + std::to_string(round_trips));
  }

  /// `answer_` is that of TIME. Leases do not depend on this: each side counts by its own clock.
  void compare_clocks(duration here) {
    cursor in{answer_};
    in.array();
    const auto whole = std::clamp<std::int64_t>(in.digits(), 0, std::int64_t{1} << 32);
    const duration there = std::chrono::seconds{whole} + span_of_microseconds(in.digits());
    const duration ahead = there - here;
    const std::string text = "the server's clock is " + in_milliseconds(std::chrono::abs(ahead)) +
                             (ahead < duration::zero() ? " behind" : " ahead of") +
                             " that of this machine";
    if (std::chrono::abs(ahead) < clocks_agree) return say(severity::note, "clock", text);
    say(severity::warning, "clock",
        text +
            ": leases do not mind, but if a server with another clock takes its place, fences may "
            "start lower, or leases end early");
  }

  /// Last, because who listens cannot ask any more.
  void look_at_rights() {
    const std::string channel = channel_of("0");
    int missing = 0;
    const auto need = [&](const command& what, const char* rule, const char* otherwise) {
      if (!ask(what).failed()) return;
      ++missing;
      say(severity::warning, "rights",
          std::string{otherwise} + ": the ACL rules &crosslock:* " + rule + " are missing");
    };
    need(plain_command{"PUBLISH", channel, "look"}, "+publish",
         "whoever waits behind this user is not woken, but finds out by its next look");
    need(plain_command{"PUBSUB", "NUMSUB", channel}, "+pubsub|numsub",
         "whoever waits behind this user is told to look instead of being handed the lock");
    need(plain_command{"SUBSCRIBE", channel}, "+subscribe",
         "waiters of this user are not woken, but look every 100 ms");
    if (missing == 0) say(severity::note, "rights", "this user may tell and be told of grants");
  }

  const address& where_;
  seam::clock& clock_;
  const time_point give_up_;
  const std::unique_ptr<stream> stream_;
  parser parser_;
  reply answer_;
  std::vector<seam::finding> found_;
};

}  // namespace

bool is_local(const address& where) noexcept {
  return !where.unix_path.empty() || where.host == "localhost" || where.host == "::1" ||
         where.host.starts_with("127.");
}

std::vector<seam::finding> examine_server(const address& where, bool eviction_allowed,
                                          seam::clock& clock, time_point give_up) {
  return visitor{where, clock, give_up}.all(eviction_allowed);
}

std::vector<seam::finding> engine::examine(time_point give_up) {
  return examine_server(connection_.where(), how_.eviction_allowed, clock_, give_up);
}

}  // namespace crosslock::redis
