// A real redis-server of a test's own.
//
//   redis_server server{{.settings = {{"appendonly", "yes"}, {"appendfsync", "always"}}}};
//   server.say({"SET", "a", "b"});
//   server.kill();
//   server.start();          // the same folder and port
#pragma once

#include "proxy/resp.hpp"
#include "proxy/socket.hpp"
#include "servers/own_process.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::servers {

/// A connection for tests that look inside or do harm. One thread at a time.
class redis_talk {
 public:
  explicit redis_talk(const proxy::address& where);

  /// An error is a value here. Throws std::runtime_error when there is no answer.
  proxy::resp_value say(const std::vector<std::string>& words);
  /// What comes without having been asked for.
  proxy::resp_value next();

 private:
  proxy::descriptor socket_;
  std::string received_;
};

struct redis_options {
  bool tcp = false;  ///< a port of its own, besides the socket in its folder
  /// As in redis.conf, one line each; without a word about persistence nothing is kept.
  std::vector<std::pair<std::string, std::string>> settings{};
  std::vector<std::string> through{};  ///< a command that executes the server, such as env(1)
  std::filesystem::path data{};        ///< where it keeps its data; empty: in its own folder
};

/// Answers when the constructor returns. It is killed with the object, or with the thread that
/// started it, and its folder is removed.
class redis_server {
 public:
  explicit redis_server(redis_options how = {});

  proxy::address address() const { return {.path = (folder() / "socket").string()}; }
  /// 0 without options::tcp.
  std::uint16_t port() const noexcept { return port_; }
  const std::filesystem::path& folder() const noexcept { return process_.folder(); }
  const std::filesystem::path& data() const noexcept { return data_; }
  pid_t pid() const noexcept { return process_.pid(); }
  bool runs() const noexcept { return process_.runs(); }

  /// From now on: what a password, or a user without rights, would keep from say().
  void authenticate_with(std::vector<std::string> words) { login_ = std::move(words); }
  proxy::resp_value say(const std::vector<std::string>& words);
  /// One number of INFO.
  std::int64_t info(const std::string& section, const std::string& field);

  void kill();                      ///< kill -9
  void stop() { process_.stop(); }  ///< SIGSTOP; its connections stay up
  void go_on() { process_.go_on(); }
  /// After a kill: with what is in its folder.
  void start();
  /// Killed, and started with nothing in its folder.
  void start_empty();
  /// In its place at the next start.
  void set(const std::string& name, const std::string& value);

 private:
  bool answers();
  std::vector<std::string> command_line() const;

  own_process process_{"redis"};
  redis_options how_;
  std::filesystem::path data_;
  std::uint16_t port_ = 0;
  std::vector<std::string> login_;
  std::unique_ptr<redis_talk> talk_;
};

}  // namespace crosslock::servers
