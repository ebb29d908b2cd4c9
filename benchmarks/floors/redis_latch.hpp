// The protocol that Redisson has published, redone with hiredis: a hash with one field per owner, a
// channel on which an unlock is announced, and everybody who hears it tries again.
#pragma once

#include "benchmarks/floors/redis_link.hpp"
#include "benchmarks/subject.hpp"

#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crosslock::bench {

/// Nothing if the lock is ours now, otherwise how long its holder's lease has left.
inline constexpr std::string_view latch_take =
    "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
    "redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) "
    "return nil end return redis.call('pttl', KEYS[1])";
/// The third key remembers the answer, for a client that has to ask again.
inline constexpr std::string_view latch_give_back =
    "local said = redis.call('get', KEYS[3]) if said ~= false then return tonumber(said) end "
    "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
    "if redis.call('hincrby', KEYS[1], ARGV[3], -1) > 0 then "
    "redis.call('pexpire', KEYS[1], ARGV[2]) redis.call('set', KEYS[3], 0, 'PX', ARGV[4]) return 0 "
    "end redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], ARGV[1]) "
    "redis.call('set', KEYS[3], 1, 'PX', ARGV[4]) return 1";

/// Two connections, one of them for the channel. Subscribes only while it waits, as published.
class latch_party final : public party {
 public:
  latch_party(int port, std::string name)
      : port_{port},
        name_{std::move(name)},
        channel_{"redisson_lock__channel:{" + name_ + "}"},
        owner_{new_owner()} {}

  std::int64_t lock() override {
    if (!commands_) connect();
    if (!remaining()) return 0;
    channel_link_->ask_subscription("SUBSCRIBE", channel_);
    while (const auto left = remaining()) channel_link_->wait_for_message(*left);
    channel_link_->send("UNSUBSCRIBE", channel_);
    return 0;
  }

  void unlock() override {
    const std::string latch =
        "redisson_unlock_latch:{" + name_ + "}:" + owner_ + std::to_string(++request_);
    const auto said =
        ask({"EVALSHA", give_back_, "3", name_, channel_, latch, "0", lease_ms, owner_, latch_ms});
    if (said->type != REDIS_REPLY_INTEGER || said->integer != 1) {
      throw std::runtime_error{"the latch lock was not its own"};
    }
    commands_->append({"DEL", latch});  // nobody waits for its answer
    commands_->flush();
    ++unread_;
  }

 private:
  static constexpr std::string_view lease_ms = "30000";
  static constexpr std::string_view latch_ms = "4500";

  /// What arrives on the channel's connection are confirmations and messages, in order.
  class channel_link {
   public:
    explicit channel_link(int port) : link_{port} {}

    void send(std::string_view verb, std::string_view channel) {
      link_.append({verb, channel});
      link_.flush();
    }
    void ask_subscription(std::string_view verb, std::string_view channel) {
      send(verb, channel);
      while (kind(*link_.receive()) != "subscribe") {
      }
    }
    void wait_for_message(std::chrono::milliseconds patience) {
      for (;;) {
        const auto news = link_.receive_for(patience);
        if (!news || kind(*news) == "message") return;
      }
    }

   private:
    static std::string_view kind(const redisReply& news) {
      return news.elements > 0 ? text_of(*news.element[0]) : std::string_view{};
    }

    redis_link link_;
  };

  static std::string new_owner() {
    static std::atomic<int> last{0};
    return "7d1f0c1e-bench-" + std::to_string(getpid()) + ":" + std::to_string(++last);
  }

  void connect() {
    commands_.emplace(port_);
    channel_link_.emplace(port_);
    take_ = commands_->load(latch_take);
    give_back_ = commands_->load(latch_give_back);
  }

  redis_answer ask(redis_words words) {
    commands_->append(words);
    for (; unread_ > 0; --unread_) commands_->receive();
    return commands_->receive();
  }

  std::optional<std::chrono::milliseconds> remaining() {
    const auto said = ask({"EVALSHA", take_, "1", name_, lease_ms, owner_});
    if (said->type == REDIS_REPLY_NIL) return std::nullopt;
    return std::chrono::milliseconds{said->integer};
  }

  const int port_;
  const std::string name_;
  const std::string channel_;
  const std::string owner_;
  std::optional<redis_link> commands_;
  std::optional<channel_link> channel_link_;
  std::string take_;
  std::string give_back_;
  std::uint64_t request_ = 0;
  int unread_ = 0;  ///< answers that nobody waited for
};

}  // namespace crosslock::bench
