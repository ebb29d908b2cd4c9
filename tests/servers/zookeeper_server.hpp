// A real ZooKeeper server of a test's own.
//
//   zookeeper_server server{{.settings = {{"maxClientCnxns", "3"}}}};
//   server.say("wchs");
//   server.kill();
//   server.start();          // the same folder and port
//
// One starts in a fifth of a second and costs a third of a second of a processor, more when it is
// cold: who has hundreds of small cases shares one among them, each with a chroot of its own.
#pragma once

#include "proxy/socket.hpp"
#include "servers/own_process.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::servers {

struct zookeeper_options {
  /// As in zoo.cfg; each in place of ours if we have one. Ours: a tick of 200 ms, sessions of 400
  /// ms to a minute, every four-letter word, any number of connections, no HTTP.
  std::vector<std::pair<std::string, std::string>> settings{};
  /// For the virtual machine: "-Dznode.container.checkIntervalMs=100", "-Xmx512m".
  std::vector<std::string> machine{};
  std::vector<std::string> through{};  ///< a command that executes the server, such as env(1)
  std::filesystem::path data{};        ///< where it keeps its data; empty: in its own folder
  int id = 0;                          ///< among several that belong together; 0: it is alone
};

/// Serves when the constructor returns, if it is alone. It is killed with the object, or with the
/// thread that started it, and its folder is removed. What it has answered it keeps over a kill:
/// the pages are the system's by then, although it does not wait for the disk.
class zookeeper_server {
 public:
  explicit zookeeper_server(zookeeper_options how = {});

  std::uint16_t port() const noexcept { return port_; }
  proxy::address address() const { return {.path = {}, .port = port_}; }
  const std::filesystem::path& folder() const noexcept { return process_.folder(); }
  const std::filesystem::path& data() const noexcept { return data_; }
  pid_t pid() const noexcept { return process_.pid(); }
  bool runs() const noexcept { return process_.runs(); }
  std::string log() const { return process_.log(); }

  /// A four-letter word: `wchs`, `dump`, `cons`, `srvr`. Throws std::runtime_error when there is no
  /// answer.
  std::string say(const std::string& word, duration within = patience) const;
  /// One number of `mntr`, such as zk_watch_count; 0 when it is not there.
  std::int64_t number(const std::string& field) const;
  /// Clients can work with it; one that has lost its peers cannot.
  bool serves() const;
  /// What it is among others: leader, follower, standalone; empty when it does not serve.
  std::string mode() const;

  void kill();  ///< kill -9
  void stop();  ///< SIGSTOP; its connections stay up
  void go_on();
  /// After a kill: with what is in its folder. Waits until it serves, if it is alone.
  void start();
  /// Killed, and started with nothing in its folder.
  void start_empty();
  /// In its place at the next start.
  void set(const std::string& name, const std::string& value);

 private:
  void write_settings() const;
  bool comes_up();
  void warm_up() const;
  std::vector<std::string> command_line() const;

  own_process process_{"zookeeper"};
  zookeeper_options how_;
  std::filesystem::path data_;
  std::uint16_t port_ = 0;
  bool stopped_ = false;
};

/// For zookeeper_options::machine: the password of the user `super`, who may do anything.
inline constexpr const char* super_password = "sesame";
std::string with_super_user();

}  // namespace crosslock::servers
