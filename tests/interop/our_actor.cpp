// Our side of the interop suite: a program that uses crosslock as its users do, and is told by
// lines on its input what to do. The actors of the other libraries understand the same lines
// (actors.py).
#include <crosslock/crosslock.hpp>

#include <hiredis/hiredis.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::int64_t now_ns() { return std::chrono::nanoseconds{steady::now().time_since_epoch()}.count(); }

/// What the locks protect: a number in Redis that everybody reads, and writes back one higher.
class counter {
 public:
  counter(int port, std::string key)
      : context_{redisConnect("127.0.0.1", port)}, key_{std::move(key)} {
    if (!context_ || context_->err) throw std::runtime_error{"no Redis to count in"};
  }

  void add_one() {
    const auto before = ask("GET " + key_);
    const long seen = before->type == REDIS_REPLY_STRING ? std::stol(before->str) : 0;
    ask("SET " + key_ + " " + std::to_string(seen + 1));
  }

 private:
  struct freeing {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };

  std::unique_ptr<redisReply, freeing> ask(const std::string& command) {
    auto* const reply = static_cast<redisReply*>(redisCommand(context_.get(), command.c_str()));
    if (!reply || reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{"Redis: " + command};
    return std::unique_ptr<redisReply, freeing>{reply};
  }

  std::unique_ptr<redisContext, freeing> context_;
  const std::string key_;
};

class actor {
 public:
  actor(const std::string& url, int port) : locks_{crosslock::connect(url)}, port_{port} {}

  std::string perform(const std::string& line) {
    std::istringstream words{line};
    std::string verb, name;
    words >> verb >> name;
    long first = 0, second = 0;
    if (verb == "release") return release();
    if (verb == "acquire" && words >> first >> second) {
      return acquire(name, milliseconds{first}, milliseconds{second});
    }
    std::string key;
    if ((verb == "count" || verb == "count_unlocked") && words >> key >> first >> second) {
      return count(verb == "count", name, key, milliseconds{first}, milliseconds{second});
    }
    throw std::runtime_error{"not understood: " + line};
  }

 private:
  /// A lease of 0 is renewed while held, any other is fixed.
  std::string acquire(const std::string& name, milliseconds patience, milliseconds lease) {
    crosslock::mutex lock{locks_, name};
    crosslock::acquire_how how;
    if (lease.count() > 0) how.lease = lease;
    hold_ = lock.try_acquire_for(patience, how);
    return hold_ ? "in " + std::to_string(now_ns()) : "busy";
  }

  std::string release() {
    const auto moment = now_ns();
    const auto result = hold_ ? hold_->release() : crosslock::release_result::not_held;
    hold_.reset();
    if (result != crosslock::release_result::released) return "not ours";
    return "out " + std::to_string(moment);
  }

  std::string count(bool locked, const std::string& name, const std::string& key, milliseconds span,
                    milliseconds pause) {
    crosslock::mutex lock{locks_, name};
    counter number{port_, key};
    long times = 0;
    std::int64_t longest = 0;
    for (const auto end = steady::now() + span; steady::now() < end; ++times) {
      const auto asked = now_ns();
      std::optional<crosslock::hold> hold;
      if (locked) hold.emplace(lock.acquire());
      longest = std::max(longest, now_ns() - asked);
      number.add_one();
      hold.reset();
      std::this_thread::sleep_for(pause);
    }
    return "did " + std::to_string(times) + " " + std::to_string(longest);
  }

  const crosslock::client locks_;
  const int port_;
  std::optional<crosslock::hold> hold_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error{"usage: crosslock-interop PORT URL"};
  actor me{argv[2], std::stoi(argv[1])};
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << me.perform(line) << std::endl;
  }
  return 0;
} catch (const std::exception& failure) {
  std::cout << "failed: " << failure.what() << std::endl;
  return 1;
}
