// What the fault proxy understands of ZooKeeper, with a real server behind it.
#include "proxy/fault_proxy.hpp"
#include "proxy/jute.hpp"
#include "servers/zookeeper_server.hpp"
#include "servers/zookeeper_talk.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::proxy {
namespace {

using namespace std::chrono_literals;
using servers::zookeeper_refusal;
using servers::zookeeper_server;
using servers::zookeeper_talk;
using words = std::vector<std::string>;
using kind = zookeeper_talk::kind;

std::string request(std::int32_t xid, jute_op what, const jute_writer& body) {
  return jute_writer{}.number(xid).number(static_cast<std::int32_t>(what)).add(body).message();
}

/// The words of a request behind a handshake.
words said(const std::string& message) {
  const auto found = jute_framing(way::to_server, true, message);
  EXPECT_TRUE(found);
  if (!found) return {};
  EXPECT_EQ(found->bytes, message.size());
  return found->words;
}

std::string push(std::int32_t type, const std::string& path) {
  return jute_writer{}
      .number(-1)
      .long_number(-1)
      .number(0)
      .number(type)
      .number(3)
      .text(path)
      .message();
}

TEST(jute_framing_test, a_request_says_what_it_wants_and_where) {
  EXPECT_EQ(said(request(7, jute_op::get_data, jute_writer{}.text("/a/b").flag(true))),
            (words{"getData", "/a/b", "watch"}));
  EXPECT_EQ(said(request(7, jute_op::get_children, jute_writer{}.text("/a").flag(false))),
            (words{"getChildren", "/a"}));
  EXPECT_EQ(said(request(8, jute_op::remove, jute_writer{}.text("/a").number(-1))),
            (words{"delete", "/a"}));
  EXPECT_EQ(said(request(jute_ping, jute_op::ping, {})), words{"ping"});
  EXPECT_EQ(said(request(9, jute_op::close, {})), words{"close"});
  const auto auth = jute_writer{}.number(0).text("digest").text("me:secret");
  EXPECT_EQ(said(request(jute_auth, jute_op::auth, auth)), words{"auth"});
}

TEST(jute_framing_test, a_multi_says_it_for_each_of_its_parts) {
  jute_writer body;
  const auto part = [&](jute_op what) -> jute_writer& {
    return body.number(static_cast<std::int32_t>(what)).flag(false).number(-1);
  };
  part(jute_op::create2).text("/a").text("data");
  body.number(1).number(31).text("world").text("anyone").number(3);
  part(jute_op::set_data).text("/b").text("data").number(-1);
  part(jute_op::remove).text("/b").number(-1);
  part(jute_op::check).text("/c").number(4);
  body.number(-1).flag(true).number(-1);
  EXPECT_EQ(said(request(1, jute_op::multi, body)),
            (words{"multi", "create2", "/a", "setData", "/b", "delete", "/b", "check", "/c"}));
}

TEST(jute_framing_test, a_push_is_told_from_an_answer) {
  const auto event = jute_framing(way::to_client, true, push(2, "/a"));
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->push);
  EXPECT_EQ(event->words, (words{"event", "deleted", "/a"}));
  const auto answer = jute_framing(way::to_client, true,
                                   jute_writer{}.number(5).long_number(77).number(-101).message());
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->push);
  EXPECT_EQ(answer->label, 5);
}

TEST(jute_framing_test, half_a_message_is_none_and_two_are_the_first) {
  const std::string one = request(7, jute_op::exists, jute_writer{}.text("/a").flag(false));
  for (std::size_t length = 0; length < one.size(); ++length) {
    EXPECT_FALSE(jute_framing(way::to_server, true, one.substr(0, length)));
  }
  const auto first = jute_framing(way::to_server, true, one + one);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes, one.size());
}

TEST(jute_framing_test, what_makes_no_sense_is_one_message) {
  for (const std::string& bytes :
       {std::string{"ruok"}, std::string(9, '\xff'), request(1, jute_op::get_data, {}),
        jute_writer{}.number(3).message()}) {
    const auto found = jute_framing(way::to_server, true, bytes);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes, bytes.size());
    EXPECT_TRUE(found->words.empty());
  }
}

class zookeeper_proxy_test : public testing::Test {
 protected:
  zookeeper_talk connect() { return zookeeper_talk{{.path = {}, .port = door_.port()}}; }

  zookeeper_server server_;
  fault_proxy proxy_{jute_framing};
  door& door_ = proxy_.open(server_.address());
};

TEST_F(zookeeper_proxy_test, requests_and_answers_are_seen_in_their_words) {
  std::mutex mutex;
  std::vector<words> seen;
  std::optional<jute_session> session;
  door_.obey([&](const sighting& each) -> std::optional<fate> {
    const std::lock_guard guard{mutex};
    words entry = each.words;
    entry.insert(entry.begin(), each.going == way::to_server ? ">" : "<");
    seen.push_back(entry);
    if (each.going == way::to_client && !session) session = jute_handshake_in(each.bytes);
    return std::nullopt;
  });
  zookeeper_talk talk = connect();
  EXPECT_EQ(talk.create("/a-", "x", kind::ephemeral_sequential), "/a-0000000000");
  EXPECT_EQ(talk.get("/a-0000000000").data, "x");
  EXPECT_EQ(talk.get("/a-0000000000").stat.owner, talk.session().id);
  const std::lock_guard guard{mutex};
  ASSERT_TRUE(session);
  EXPECT_EQ(session->id, talk.session().id);
  EXPECT_EQ(session->password, talk.session().password);
  const words get{">", "getData", "/a-0000000000"};
  const words got{"<", "getData", "/a-0000000000"};
  EXPECT_EQ(seen, (std::vector<words>{{">", "connect"},
                                      {"<", "connect"},
                                      {">", "create", "/a-"},
                                      {"<", "create", "/a-"},
                                      get,
                                      got,
                                      get,
                                      got}));
}

TEST_F(zookeeper_proxy_test, a_request_whose_answer_is_reset_was_carried_out) {
  door_.add({.going = way::to_client, .matches = is_answer_to("create"), .what = fate::reset()});
  zookeeper_talk talk = connect();
  EXPECT_THROW(talk.create("/kept"), std::runtime_error);
  EXPECT_TRUE(zookeeper_talk{server_.address()}.exists("/kept"));
}

TEST_F(zookeeper_proxy_test, a_replayed_request_is_carried_out_twice_and_answered_once) {
  door_.add({.matches = is_request("create"), .what = fate::replay()});
  zookeeper_talk talk = connect();
  talk.create("/n-", {}, kind::sequential);
  EXPECT_EQ(talk.children("/").size(), 3U);  // two, and the server's own
}

TEST_F(zookeeper_proxy_test, a_session_ends_when_another_connection_of_it_closes_it) {
  zookeeper_talk victim = connect();
  victim.create("/mine", {}, kind::ephemeral);
  zookeeper_talk thief{server_.address(), victim.session()};
  EXPECT_EQ(thief.session().id, victim.session().id);
  thief.close();
  EXPECT_FALSE(zookeeper_talk{server_.address()}.exists("/mine"));
  EXPECT_THROW(victim.exists("/mine"), std::runtime_error);
  zookeeper_talk late{server_.address(), victim.session()};
  EXPECT_EQ(late.session().id, 0);
}

TEST_F(zookeeper_proxy_test, rights_that_were_taken_are_missed_by_all_but_the_super_user) {
  zookeeper_server strict{{.machine = {servers::with_super_user()}}};
  zookeeper_talk talk{strict.address()};
  talk.create("/a");
  talk.set_rights("/a", 0, {{"world", "anyone"}});
  EXPECT_THROW(talk.get("/a"), zookeeper_refusal);
  talk.authenticate("super", servers::super_password);
  EXPECT_EQ(talk.get("/a").data, "");
  talk.create("/a/b");
  talk.create("/a/b/c");
  EXPECT_EQ(talk.below("/a"), (words{"/a/b", "/a/b/c"}));
  talk.remove_tree("/a");
  EXPECT_FALSE(talk.exists("/a"));
}

}  // namespace
}  // namespace crosslock::proxy
