// A command line instead of a file with settings.
#include "servers/redis_server.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <sstream>
#include <stdexcept>

namespace crosslock::servers {
namespace {

namespace fs = std::filesystem;

constexpr int patience_ms = 20'000;

}  // namespace

redis_talk::redis_talk(const proxy::address& where) : socket_{proxy::connect_to(where)} {
  if (!socket_.is_open()) throw std::runtime_error{"no redis-server listens there"};
}

proxy::resp_value redis_talk::say(const std::vector<std::string>& words) {
  const std::string request = proxy::resp_request(words);
  const auto size = static_cast<ssize_t>(request.size());
  if (::send(socket_.number(), request.data(), request.size(), MSG_NOSIGNAL) != size) {
    throw std::runtime_error{"the redis-server is gone"};
  }
  return next();
}

proxy::resp_value redis_talk::next() {
  std::array<char, 65536> bytes;
  for (;;) {
    if (auto found = proxy::parse_resp(received_)) {
      received_.erase(0, found->second);
      return std::move(found->first);
    }
    pollfd news{socket_.number(), POLLIN, 0};
    if (::poll(&news, 1, patience_ms) <= 0) {
      throw std::runtime_error{"the redis-server does not answer"};
    }
    const ssize_t got = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error{"the redis-server has hung up"};
    received_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

redis_server::redis_server(redis_options how)
    : how_{std::move(how)}, data_{how_.data.empty() ? folder() : how_.data} {
  start();
}

void redis_server::start() {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    if (how_.tcp && port_ == 0) port_ = free_port();
    process_.spawn(command_line());
    if (answers()) return;
    // Gone at once: perhaps somebody else has got the port meanwhile.
    if (how_.tcp && process_.log().find("Address already in use") != std::string::npos) continue;
    break;
  }
  const std::string why = process_.log();
  kill();
  throw std::runtime_error{"redis-server does not start: " + why};
}

std::vector<std::string> redis_server::command_line() const {
  std::vector<std::string> words = how_.through;
  words.insert(words.end(), {"redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port_),
                             "--unixsocket", address().path, "--dir", data_.string(), "--save", "",
                             "--daemonize", "no", "--repl-diskless-sync-delay", "0"});
  for (const auto& [name, value] : how_.settings) {
    words.push_back("--" + name);
    std::istringstream parts{value};
    // Each word is an argument, as in redis.conf; an empty value is one, too.
    if (value.empty()) words.emplace_back();
    for (std::string part; parts >> part;) words.push_back(part);
  }
  return words;
}

/// Until it answers (true) or ends (false).
bool redis_server::answers() {
  bool answered = false;
  eventually([&] {
    if (process_.has_ended()) return true;
    try {
      redis_talk probe{address()};
      // While it reads its files it says so; to ask for a password is an answer.
      answered = probe.say({"PING"}).text.find("LOADING") == std::string::npos;
    } catch (const std::runtime_error&) {
    }
    return answered;
  });
  return answered;
}

proxy::resp_value redis_server::say(const std::vector<std::string>& words) {
  for (int tries = 0;; ++tries) {
    try {
      if (!talk_) {
        talk_ = std::make_unique<redis_talk>(address());
        if (!login_.empty()) talk_->say(login_);
      }
      return talk_->say(words);
    } catch (const std::runtime_error&) {
      // A test may have had all connections killed, this one with them.
      talk_.reset();
      if (tries > 0) throw;
    }
  }
}

std::int64_t redis_server::info(const std::string& section, const std::string& field) {
  const std::string text = say({"INFO", section}).text;
  const std::size_t at = text.find('\n' + field + ':');
  if (at == std::string::npos) return 0;
  return std::stoll(text.substr(at + field.size() + 2));
}

void redis_server::kill() {
  talk_.reset();
  process_.kill();
}

void redis_server::start_empty() {
  kill();
  for (const auto& each : fs::directory_iterator{folder()}) {
    if (each.path().filename() != "log") fs::remove_all(each.path());
  }
  start();
}

void redis_server::set(const std::string& name, const std::string& value) {
  std::erase_if(how_.settings, [&](const auto& each) { return each.first == name; });
  how_.settings.emplace_back(name, value);
}

}  // namespace crosslock::servers
