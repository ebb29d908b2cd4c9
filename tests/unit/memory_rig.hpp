// Short words for transcripts of requests to a memory server.
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

/// A server, its time, and clients 1 to 9, all connected. Owner n belongs to client n unless said
/// otherwise; the lease is 10 s, so an offer and a place in the line last 1 s.
class rig {
 public:
  explicit rig(server_limits limits = {}) : server_under_test{limits} {
    for (client_id client = 1; client <= 9; ++client) server_under_test.connect(client);
  }

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
    auto result = server_under_test.apply(from, message, now);
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
    auto wish = claim(who, wait);
    wish.mode = claim_mode::shared;
    return ask(wish, who);
  }
  ask_reply permits(std::uint32_t who, std::int32_t k, std::int32_t n) {
    auto wish = claim(who);
    wish.mode = claim_mode::permit;
    wish.permits = k;
    wish.of = n;
    return ask(wish, who);
  }
  /// An exclusive claim of client `who % 10`, which holds the name shared.
  seam::claim upgrade_claim(std::uint32_t who, std::optional<std::uint32_t> beside,
                            bool wait = true) const {
    auto wish = claim(who, wait);
    wish.upgrade = true;
    if (beside) wish.beside = owner(*beside);
    return wish;
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
  /// Looks without touching: at a copy.
  lock_info look() const {
    auto copy = server_under_test;
    return std::get<look_reply>(copy.apply(9, look_request{name}, now).answer).info;
  }
  std::vector<owner_id> holders() const { return owners(look().holders); }
  std::vector<owner_id> line() const { return owners(look().line); }

  server server_under_test;
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

inline std::vector<owner_id> nobody() { return {}; }
inline std::vector<owner_id> just(std::uint32_t a) { return {owner(a)}; }
inline std::vector<owner_id> just(std::uint32_t a, std::uint32_t b) { return {owner(a), owner(b)}; }

}  // namespace crosslock::memory
