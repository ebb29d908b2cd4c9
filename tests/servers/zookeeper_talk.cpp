// Requests are written out as the protocol has them.
#include "servers/zookeeper_talk.hpp"

#include "servers/own_process.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace crosslock::servers {
namespace {

using proxy::jute_op;
using proxy::jute_reader;
using proxy::jute_writer;

constexpr std::int32_t no_node = -101;
constexpr std::int32_t all_rights = 31;
constexpr std::int32_t session_ms = 30'000;
constexpr std::size_t length_bytes = 4;
constexpr std::size_t header_bytes = 16;

zookeeper_stat read_stat(jute_reader& from) {
  zookeeper_stat stat;
  stat.created = from.long_number();
  stat.changed = from.long_number();
  from.long_number();  // times of both
  from.long_number();
  stat.version = from.number();
  from.number();  // versions of children and rights
  from.number();
  stat.owner = from.long_number();
  from.number();  // length of the data
  stat.children = from.number();
  from.long_number();
  return stat;
}

}  // namespace

zookeeper_talk::zookeeper_talk(const proxy::address& where, const proxy::jute_session& session)
    : socket_{proxy::connect_to(where)} {
  if (!socket_.is_open()) throw std::runtime_error{"no ZooKeeper server listens there"};
  const std::string password = session.id == 0 ? std::string(16, '\0') : session.password;
  send(jute_writer{}
           .number(0)
           .long_number(0)  // a server that is behind what we have seen would not do
           .number(session_ms)
           .long_number(session.id)
           .text(password)
           .flag(false)
           .message());
  const auto handshake = proxy::jute_handshake_in(receive());
  if (!handshake) throw std::runtime_error{"the ZooKeeper server does not greet"};
  session_ = *handshake;
}

zookeeper_talk::~zookeeper_talk() {
  try {
    if (socket_.is_open() && session_.id != 0) close();
  } catch (const std::runtime_error&) {
    // The server may be gone by now.
  }
}

void zookeeper_talk::send(const std::string& message) {
  const auto size = static_cast<ssize_t>(message.size());
  if (::send(socket_.number(), message.data(), message.size(), MSG_NOSIGNAL) != size) {
    throw std::runtime_error{"the ZooKeeper server is gone"};
  }
}

std::string zookeeper_talk::receive() {
  std::array<char, 65536> bytes;
  for (;;) {
    if (received_.size() >= length_bytes) {
      const auto size = length_bytes + static_cast<std::size_t>(jute_reader{received_}.number());
      if (received_.size() >= size) {
        std::string message = received_.substr(0, size);
        received_.erase(0, size);
        return message;
      }
    }
    pollfd news{socket_.number(), POLLIN, 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
    if (::poll(&news, 1, static_cast<int>(milliseconds)) <= 0) {
      throw std::runtime_error{"the ZooKeeper server does not answer"};
    }
    const ssize_t got = ::recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error{"the ZooKeeper server has hung up"};
    received_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string zookeeper_talk::ask(jute_op what, const jute_writer& body, const std::string& about,
                                std::int32_t xid) {
  const std::int32_t number = xid != 0 ? xid : ++last_xid_;
  send(jute_writer{}.number(number).number(static_cast<std::int32_t>(what)).add(body).message());
  for (;;) {
    const std::string message = receive();
    const auto answer = proxy::jute_answer_in(message);
    if (!answer || answer->xid != number) continue;
    if (answer->error != 0) {
      throw zookeeper_refusal{proxy::name_of(what) + " " + about, answer->error};
    }
    return message.substr(length_bytes + header_bytes);
  }
}

std::string zookeeper_talk::create(const std::string& path, const std::string& data, kind what) {
  jute_writer body;
  body.text(path).text(data);
  body.number(1).number(all_rights).text("world").text("anyone");
  body.number(static_cast<std::int32_t>(what));
  const jute_op how = what == kind::container ? jute_op::create_container : jute_op::create;
  const std::string answer = ask(how, body, path);
  return jute_reader{answer}.text();
}

void zookeeper_talk::remove(const std::string& path) {
  ask(jute_op::remove, jute_writer{}.text(path).number(-1), path);
}

void zookeeper_talk::remove_tree(const std::string& path) {
  std::vector<std::string> all = below(path);
  all.insert(all.begin(), path);
  std::for_each(all.rbegin(), all.rend(), [this](const std::string& each) {
    try {
      remove(each);
    } catch (const zookeeper_refusal& why) {
      if (why.code() != no_node) throw;
    }
  });
}

bool zookeeper_talk::exists(const std::string& path) {
  try {
    ask(jute_op::exists, jute_writer{}.text(path).flag(false), path);
    return true;
  } catch (const zookeeper_refusal& why) {
    if (why.code() != no_node) throw;
    return false;
  }
}

zookeeper_node zookeeper_talk::get(const std::string& path) {
  const std::string answer = ask(jute_op::get_data, jute_writer{}.text(path).flag(false), path);
  jute_reader body{answer};
  zookeeper_node node;
  node.data = body.text();
  node.stat = read_stat(body);
  return node;
}

std::optional<zookeeper_node> zookeeper_talk::find(const std::string& path) {
  try {
    return get(path);
  } catch (const zookeeper_refusal& why) {
    if (why.code() != no_node) throw;
    return std::nullopt;
  }
}

void zookeeper_talk::set(const std::string& path, const std::string& data) {
  ask(jute_op::set_data, jute_writer{}.text(path).text(data).number(-1), path);
}

std::vector<std::string> zookeeper_talk::children(const std::string& path) {
  std::vector<std::string> names;
  try {
    const std::string answer =
        ask(jute_op::get_children, jute_writer{}.text(path).flag(false), path);
    jute_reader body{answer};
    for (std::int32_t left = body.number(); left > 0; --left) names.push_back(body.text());
  } catch (const zookeeper_refusal& why) {
    if (why.code() != no_node) throw;
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> zookeeper_talk::below(const std::string& path) {
  std::vector<std::string> found;
  const std::string parent = path == "/" ? path : path + '/';
  for (const std::string& each : children(path)) found.push_back(parent + each);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string next = found[i];
    for (const std::string& each : children(next)) found.push_back(next + '/' + each);
  }
  return found;
}

void zookeeper_talk::authenticate(const std::string& name, const std::string& password) {
  const auto body = jute_writer{}.number(0).text("digest").text(name + ":" + password);
  ask(jute_op::auth, body, "as " + name, proxy::jute_auth);
}

void zookeeper_talk::set_rights(const std::string& path, std::int32_t perms,
                                const std::vector<identity>& whose) {
  jute_writer body;
  body.text(path).number(static_cast<std::int32_t>(whose.size()));
  for (const auto& [scheme, id] : whose) body.number(perms).text(scheme).text(id);
  body.number(-1);
  ask(jute_op::set_acl, body, path);
}

void zookeeper_talk::close() {
  ask(jute_op::close, {}, "the session");
  socket_.close();
  session_.id = 0;
}

}  // namespace crosslock::servers
