// A connection to Redis as any program has it: hiredis, one context, blocking calls.
#pragma once

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace crosslock::bench {

struct freeing_reply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using redis_answer = std::unique_ptr<redisReply, freeing_reply>;
using redis_words = std::initializer_list<std::string_view>;

inline std::string_view text_of(const redisReply& reply) { return {reply.str, reply.len}; }

/// Used by one thread at a time. Every failure is an exception.
class redis_link {
 public:
  explicit redis_link(int port) : context_{redisConnect("127.0.0.1", port)} {
    if (!context_) throw std::bad_alloc{};
    check(context_->err == 0 ? REDIS_OK : REDIS_ERR);
  }

  /// One command, one answer.
  redis_answer ask(redis_words words) {
    append(words);
    return receive();
  }

  /// Into the output buffer; sent by `flush`, or by the next `receive`.
  void append(redis_words words) {
    constexpr std::size_t most = 16;
    if (words.size() > most) throw std::runtime_error{"too many words for one command"};
    std::array<const char*, most> places{};
    std::array<std::size_t, most> sizes{};
    std::size_t count = 0;
    for (const std::string_view word : words) {
      places[count] = word.data();
      sizes[count++] = word.size();
    }
    check(redisAppendCommandArgv(context_.get(), static_cast<int>(count), places.data(),
                                 sizes.data()));
  }

  void flush() {
    for (int done = 0; done == 0;) check(redisBufferWrite(context_.get(), &done));
  }

  redis_answer receive() {
    void* reply = nullptr;
    check(redisGetReply(context_.get(), &reply));
    return checked(reply);
  }

  /// Empty when nothing comes in time.
  redis_answer receive_for(std::chrono::milliseconds patience) {
    void* reply = nullptr;
    check(redisGetReplyFromReader(context_.get(), &reply));
    if (reply) return checked(reply);
    pollfd readable{.fd = context_->fd, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, static_cast<int>(patience.count())) == 0) return nullptr;
    return receive();
  }

  std::string load(std::string_view script) {
    return std::string{text_of(*ask({"SCRIPT", "LOAD", script}))};
  }

 private:
  struct closing {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  void check(int code) const {
    if (code != REDIS_OK) throw std::runtime_error{std::string{"redis: "} + context_->errstr};
  }

  static redis_answer checked(void* reply) {
    redis_answer answer{static_cast<redisReply*>(reply)};
    if (answer->type == REDIS_REPLY_ERROR) {
      throw std::runtime_error{"redis: " + std::string{text_of(*answer)}};
    }
    return answer;
  }

  std::unique_ptr<redisContext, closing> context_;
};

}  // namespace crosslock::bench
