#include "checker/history.hpp"
#include "checker/recorder.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace crosslock::checker {
namespace {

event full() {
  event e;
  e.t = 9'007'199'254'740'993;
  e.proc = 3;
  e.thr = 2;
  e.ph = phase::ok;
  e.f = action::acq;
  e.lock = "stock";
  e.mode = claim_mode::permit;
  e.permits = 2;
  e.of = 5;
  e.req = "0123";
  e.token = std::numeric_limits<std::int64_t>::max();
  e.deadline = 17;
  e.sent = 11;
  e.lease = 6;
  e.value = -4;
  e.kind = fault::admin_delete;
  e.err = "none";
  return e;
}

event with_text(std::string text) {
  event e = full();
  e.lock = text;
  e.req = text;
  e.err = std::move(text);
  return e;
}

time_point at_ms(int t) { return time_point{std::chrono::milliseconds{t}}; }

TEST(history, every_member_survives_json) {
  EXPECT_EQ(from_json(to_json(full())), full());
  EXPECT_EQ(from_json(to_json(event{})), event{});
}

TEST(history, quotes_controls_and_any_bytes_survive_json) {
  std::string all_bytes;
  for (int c = 0; c < 256; ++c) {
    all_bytes += static_cast<char>(c);
  }
  const std::vector<std::string> texts{"say \"hi\" \\ back",
                                       std::string("nul\0in", 6),
                                       "line\nend\ttab",
                                       "gr\xc3\xbc\xc3\x9f",
                                       "\xf0\x9f\x94\x92",
                                       "\xff\xfe cut \xe2\x82",
                                       "\xed\xa0\x80",
                                       "\xc0\xaf",
                                       all_bytes};
  for (const std::string& text : texts) {
    const std::string json = to_json(with_text(text));
    EXPECT_EQ(json.find('\n'), std::string::npos);
    EXPECT_EQ(from_json(json), with_text(text));
  }
}

TEST(history, escapes_of_other_writers_are_understood) {
  const event e = from_json(R"( { "t" : 5 , "lock":"a\/b\u00fc\ud83d\udd12\b", "ph":"lost" } )");
  EXPECT_EQ(e.lock, "a/b\xc3\xbc\xf0\x9f\x94\x92\b");
  EXPECT_EQ(e.ph, phase::lost);
}

TEST(history, bad_lines_are_refused) {
  const std::vector<std::string> lines{"",
                                       "{",
                                       "{\"t\":}",
                                       "{\"t\":1",
                                       "{\"t\":1}x",
                                       "{\"q\":1}",
                                       "{\"ph\":\"maybe\"}",
                                       "{\"t\":99999999999999999999}",
                                       "{\"err\":\"",
                                       "{\"err\":\"\\q\"}",
                                       "{\"err\":\"\\ud800x\"}",
                                       "{\"err\":\"\\u00g0\"}"};
  for (const std::string& line : lines) {
    EXPECT_THROW(from_json(line), std::runtime_error) << line;
  }
}

TEST(history, files_are_read_back_and_a_torn_last_line_is_ignored) {
  std::stringstream file;
  write_jsonl(file, {full(), with_text("\"\xff")});
  file << R"({"t":12,"pro)";
  EXPECT_EQ(read_jsonl(file), (history{full(), with_text("\"\xff")}));
}

TEST(history, a_torn_line_in_the_middle_names_file_and_line) {
  std::stringstream file{to_json(full()) + "\n{\"t\":1\n" + to_json(full()) + "\n"};
  try {
    read_jsonl(file, "p1.jsonl");
    FAIL() << "accepted";
  } catch (const std::runtime_error& wrong) {
    EXPECT_NE(std::string{wrong.what()}.find("p1.jsonl:2:"), std::string::npos) << wrong.what();
  }
}

TEST(history, merge_orders_by_time_and_keeps_the_order_of_equals) {
  const auto make = [](std::int64_t t, std::string err) {
    event e;
    e.t = t;
    e.err = std::move(err);
    return e;
  };
  const history all =
      merge({{make(1, "a"), make(5, "b"), make(5, "c")}, {make(5, "d"), make(2, "e")}});
  std::string order;
  for (const event& e : all) {
    order += e.err;
  }
  EXPECT_EQ(order, "aebcd");
}

TEST(recorder, tells_the_story_of_a_claim) {
  recorder book;
  auto claim = book.asks(at_ms(1), {.proc = 4, .lock = "stock"});
  claim.granted(at_ms(2), {.token = fence{7},
                           .deadline = at_ms(9),
                           .sent = at_ms(1),
                           .lease = std::chrono::milliseconds{10}});
  claim.lost(at_ms(8), "expired");
  const history events = book.events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].ph, phase::inv);
  EXPECT_EQ(events[1].token, 7);
  EXPECT_EQ(events[1].deadline, 9'000'000);
  EXPECT_EQ(events[2].ph, phase::lost);
  EXPECT_EQ(events[2].token, 7);
  EXPECT_EQ(events[2].req, events[0].req);
  EXPECT_FALSE(events[2].req.empty());
}

TEST(recorder, writes_every_event_through_to_its_file) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("recorder." + std::to_string(::getpid()) + ".jsonl");
  std::filesystem::remove(path);
  {
    recorder book{path};
    book.nemesis(at_ms(3), fault::kill, 2);
    book.final_value(at_ms(4), "stock", 12);
    EXPECT_EQ(read_file(path), book.events());
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read_file(path), std::runtime_error);
}

TEST(recorder, takes_events_from_many_threads_at_once) {
  recorder book;
  std::vector<std::thread> threads;
  for (int p = 0; p < 4; ++p) {
    threads.emplace_back([&book, p] {
      for (int i = 0; i < 250; ++i) {
        book.asks(at_ms(i), {.proc = p, .lock = "stock"}).refused(at_ms(i), "busy");
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(book.events().size(), 2000U);
}

}  // namespace
}  // namespace crosslock::checker
