// Short words for transcripts of requests to the rules of a line, over any kind of rows.
#pragma once

#include "engines/memory/server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::memory {

using namespace std::chrono_literals;

inline owner_id owner(std::uint32_t number) {
  owner_id::bytes_type bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  bytes[15] = 1;
  return owner_id{bytes};
}

inline seam::name_ref name_of(const std::string& text) {
  return std::make_shared<const lock_name>(text);
}

/// A server over some kind of rows, its time, and clients 1 to 9, whom it can tell things. Owner n
/// belongs to client n unless said otherwise; the lease is 10 s, so an offer and a place in the
/// line last 1 s.
class line_rig {
 public:
  virtual ~line_rig() = default;
  virtual server::outcome apply(client_id from, const request& message) = 0;

  static constexpr duration lease = 10s;

  seam::claim claim(std::uint32_t who, bool wait = true) const {
    return {.name = name,
            .owner = owner(who),
            .mode = claim_mode::exclusive,
            .permits = 1,
            .of = 1,
            .lease = lease,
            .wait = wait};
  }

  template <class Reply>
  Reply send(client_id from, const request& message) {
    auto result = apply(from, message);
    pushes = std::move(result.pushes);
    if (const auto* no = std::get_if<refusal>(&result.answer)) {
      refused = no->code;
      refusal_text = no->text;
      return Reply{};
    }
    refused = {};
    return std::get<Reply>(result.answer);
  }

  ask_reply ask(const seam::claim& claim, client_id from) {
    return send<ask_reply>(
        from,
        ask_request{claim, std::make_shared<const std::string>("client " + std::to_string(from))});
  }
  ask_reply ask(std::uint32_t who) { return ask(claim(who), who); }
  ask_reply try_once(std::uint32_t who) { return ask(claim(who, false), who); }
  ask_reply shared(std::uint32_t who, bool wait = true) {
    auto request = claim(who, wait);
    request.mode = claim_mode::shared;
    return ask(request, who);
  }
  ask_reply permits(std::uint32_t who, std::int32_t k, std::int32_t n) {
    auto request = claim(who);
    request.mode = claim_mode::permit;
    request.permits = k;
    request.of = n;
    return ask(request, who);
  }
  /// An exclusive claim of client `who % 10`, which holds the name shared.
  seam::claim upgrade_claim(std::uint32_t who, std::optional<std::uint32_t> beside,
                            bool wait = true) const {
    auto request = claim(who, wait);
    request.upgrade = true;
    if (beside) request.beside = owner(*beside);
    return request;
  }
  ask_reply upgrade(std::uint32_t who, std::optional<std::uint32_t> beside, bool wait = true) {
    return ask(upgrade_claim(who, beside, wait), who % 10);
  }
  void withdraw(std::uint32_t who, ticket_number offer_of = 0) {
    send<withdraw_reply>(who, withdraw_request{name, owner(who), offer_of});
  }
  bool release(std::uint32_t who, std::int64_t proof) {
    return send<release_reply>(who, release_request{name, owner(who), fence{proof}}).answer ==
           seam::release_answer::released;
  }
  renew_outcome renew(std::uint32_t who, std::int64_t proof, bool want_fences = false,
                      duration length = lease) {
    return send<renew_reply>(
               who,
               renew_request{{{name, owner(who), fence{proof}, fence{proof}, length, want_fences}}})
        .outcomes.at(0);
  }
  renew_outcome share(std::uint32_t who, std::int64_t proof, duration length = lease) {
    const renew_item item{.name = name,
                          .owner = owner(who),
                          .first = fence{proof},
                          .last = fence{proof},
                          .lease = length,
                          .share = true};
    return send<renew_reply>(who % 10, renew_request{{item}}).outcomes.at(0);
  }
  adopt_reply adopt(std::uint32_t from, std::int64_t proof, std::uint32_t to) {
    return send<adopt_reply>(to, adopt_request{owner(from), fence{proof}, claim(to), nullptr});
  }
  bool break_it(std::uint32_t who) {
    return send<break_reply>(9, break_request{name, owner(who)}).broken;
  }
  /// Looking changes nothing, and is no request whose pushes count.
  lock_info look() { return std::get<look_reply>(apply(9, look_request{name}).answer).info; }
  std::vector<owner_id> holders() { return owners(look().holders); }
  std::vector<owner_id> line() { return owners(look().line); }

  server_time now = 1000s;
  seam::name_ref name = name_of("stock");
  std::vector<push> pushes;  ///< of the last request
  errc refused{};            ///< of the last request
  std::string refusal_text;  ///< of the last refusal

 private:
  static std::vector<owner_id> owners(const std::vector<claim_info>& infos) {
    std::vector<owner_id> result;
    for (const claim_info& one : infos) result.push_back(one.owner);
    return result;
  }
};

/// Writes to one cell.
class cell_writer {
 public:
  explicit cell_writer(line_rig& on) : on_{on} {}

  seam::cell_swap swap_of(std::uint32_t writer, std::uint64_t expected, std::string value,
                          std::int64_t token = 0) const {
    return {.name = on_.name,
            .expected = expected,
            .value = std::move(value),
            .writer = owner(writer),
            .token = fence{token}};
  }
  seam::swap_answer swap(const seam::cell_swap& wanted) {
    return on_.send<swap_cell_reply>(1, swap_cell_request{wanted}).answer;
  }
  seam::cell read() { return on_.send<read_cell_reply>(2, read_cell_request{on_.name, {}}).found; }
  std::optional<seam::cell> open(std::int64_t token) {
    return on_.send<open_cell_reply>(3, open_cell_request{on_.name, fence{token}}).opened;
  }

 private:
  line_rig& on_;
};

inline std::vector<owner_id> nobody() { return {}; }
inline std::vector<owner_id> just(std::uint32_t a) { return {owner(a)}; }
inline std::vector<owner_id> just(std::uint32_t a, std::uint32_t b) { return {owner(a), owner(b)}; }

}  // namespace crosslock::memory
