// The suites of the line over the tables of a real database; and the same random requests to maps
// and to tables, which must be answered alike.
#include "engines/sqlite/schema.hpp"
#include "line_suite.hpp"
#include "memory_rig.hpp"
#include "unit/sqlite_rig.hpp"

#include <map>
#include <random>
#include <sstream>

namespace crosslock::sqlite {

using memory::line_cells;
using memory::line_rules;

namespace {

using namespace std::chrono_literals;
using memory::name_of;
using memory::owner;

/// Fences by the time of the test.
class timed_rows final : public table_rows {
 public:
  using table_rows::table_rows;
  std::int64_t fence_clock() override { return now().count(); }
};

class table_rig final : public memory::line_rig {
 public:
  explicit table_rig(std::int64_t longest_line) : longest_line_{longest_line} {
    prepare(base_);
    base_.run("PRAGMA synchronous = OFF");
    for (int client = 1; client <= 9; ++client) {
      add_client(base_, {}, "client " + std::to_string(client), time_point{});
    }
    tables_.emplace(base_);
  }

  memory::server::outcome apply(memory::client_id from, const memory::request& message) override {
    timed_rows rows{*tables_, self_, time_point{now}};
    seam::line_server line{rows, longest_line_};
    tables_->begin_writing();
    memory::server::outcome result;
    result.answer = carry_out(message, from, line, rows);
    result.pushes = line.take_news();
    tables_->commit();
    return result;
  }

  std::int64_t number(const char* sql) { return base_.ask_number(sql); }

 private:
  const std::int64_t longest_line_;
  scratch dir_;
  database base_{dir_.file("locks.db"), durability::normal, seam::real_clock()};
  std::optional<ledger> tables_;
  const process_id self_ = read_surroundings().self;
};

std::unique_ptr<memory::line_rig> over_tables(std::int64_t longest_line) {
  return std::make_unique<table_rig>(longest_line);
}

INSTANTIATE_TEST_SUITE_P(tables, line_rules, testing::Values(&over_tables));
INSTANTIATE_TEST_SUITE_P(tables, line_cells, testing::Values(&over_tables));

/// Answers and pushes in words.
struct in_words {
  std::ostringstream out{};

  static std::string short_id(const owner_id& id) { return id.to_string().substr(0, 4); }
  void add(const seam::given& one) {
    out << one.first.value() << '-' << one.last.value() << ' ' << one.lease.count()
        << (one.wanted ? " wanted" : "");
  }
  void add(const seam::cell& one) {
    out << '"' << one.value << "\" " << one.version << ' ' << one.highest.value();
  }
  void add(const std::vector<claim_info>& claims) {
    for (const claim_info& one : claims) {
      out << " [" << short_id(one.owner) << ' ' << static_cast<int>(one.mode) << ' ' << one.permits
          << '/' << one.of << ' ' << one.who << ' ' << one.age.count() << ' '
          << one.lease_left.count() << ' ' << one.fence.value() << ']';
    }
  }
  void add(const lock_info& one) {
    out << one.name << " in";
    add(one.holders);
    out << " line";
    add(one.line);
  }

  void operator()(const memory::ask_reply& one) {
    out << "ask " << static_cast<int>(one.result) << ' ';
    add(one.granted);
    out << ' ' << one.ticket << ' ' << one.look_after.count() << (one.near ? " near" : "");
  }
  void operator()(const memory::withdraw_reply&) { out << "withdrawn"; }
  void operator()(const memory::renew_reply& one) {
    for (const auto& each : one.outcomes) {
      out << "renew " << each.renewed << ' ' << each.lease.count() << ' ' << each.more_first.value()
          << '-' << each.more_last.value() << (each.wanted ? " wanted" : "");
    }
  }
  void operator()(const memory::release_reply& one) {
    out << "release " << static_cast<int>(one.answer);
  }
  void operator()(const memory::adopt_reply& one) {
    out << "adopt " << one.adopted << ' ';
    add(one.granted);
  }
  void operator()(const memory::break_reply& one) { out << "break " << one.broken; }
  void operator()(const memory::look_reply& one) { add(one.info); }
  void operator()(const memory::list_reply& one) {
    for (const lock_info& each : one.infos) {
      add(each);
      out << "; ";
    }
  }
  void operator()(const memory::read_cell_reply& one) { add(one.found); }
  void operator()(const memory::swap_cell_reply& one) {
    out << "swap " << static_cast<int>(one.answer.outcome) << ' ';
    add(one.answer.now);
  }
  void operator()(const memory::open_cell_reply& one) {
    out << "open ";
    if (one.opened) add(*one.opened);
  }
  void operator()(const memory::refusal& one) {
    out << "refused " << static_cast<int>(one.code) << ' ' << one.text;
  }
  void add(const memory::push& one) {
    out << " | " << to_string(one.what) << " to " << one.to << ' ' << one.name->view() << ' '
        << short_id(one.owner) << ' ' << one.ticket << ' ';
    add(one.offer);
  }
};

std::string said(const memory::server::outcome& outcome) {
  in_words words;
  std::visit([&](const auto& answer) { words(answer); }, outcome.answer);
  for (const memory::push& one : outcome.pushes) words.add(one);
  return words.out.str();
}

/// Draws requests about a few names, by a few owners, who know the fences and tickets they heard
/// of.
class player {
 public:
  explicit player(std::uint64_t seed) : dice_{seed} {}

  memory::request draw() {
    const seam::name_ref& name = names_[dice_() % names_.size()];
    const auto who = static_cast<std::uint32_t>(1 + below(12));
    switch (below(16)) {
      case 0:
      case 1:
        return memory::withdraw_request{name, owner(who), one_in(4) ? tickets_[who] : 0};
      case 2:
      case 3:
        return memory::renew_request{{{.name = name,
                                       .owner = owner(who),
                                       .first = proof(who),
                                       .last = proof(who),
                                       .lease = one_in(5) ? 0s : lease(),
                                       .want_fences = one_in(4),
                                       .share = one_in(4),
                                       .detach = one_in(8)}}};
      case 4:
      case 5:
      case 6:
        return memory::release_request{name, owner(who), proof(who)};
      case 7: {
        const auto from = static_cast<std::uint32_t>(1 + below(12));
        return memory::adopt_request{owner(from), proof(from), claim(name, who), nullptr};
      }
      case 8:
        if (one_in(2)) return memory::look_request{name};
        return one_in(2) ? memory::request{memory::list_request{"l"}}
                         : memory::request{memory::break_request{name, owner(who)}};
      case 9:
        return draw_cell(name);
      default:
        return memory::ask_request{claim(name, who), who_is(who)};
    }
  }

  /// What the one who asked, and those who were told, know from now on.
  void note(const memory::request& asked, const memory::server::outcome& heard) {
    const auto* const ask = std::get_if<memory::ask_request>(&asked);
    if (const auto* const answer = std::get_if<memory::ask_reply>(&heard.answer)) {
      if (answer->result == seam::ask_result::granted) {
        note(ask->claim.owner, answer->granted.first.value(), 0);
      } else if (answer->ticket != 0) {
        note(ask->claim.owner, 0, answer->ticket);
      }
    }
    for (const memory::push& news : heard.pushes) {
      if (news.what == memory::push::kind::granted) {
        note(news.owner, news.offer.first.value(), news.ticket);
      }
    }
    if (const auto* const read = std::get_if<memory::read_cell_reply>(&heard.answer)) {
      version_ = read->found.version;
    }
  }

  /// Time never stands: two entries at the same moment have the same ticket in no row.
  duration pause() {
    if (one_in(40)) return duration{1 + below(11'000'000'000)};
    return duration{1 + below(one_in(4) ? 400'000'000 : 1000)};
  }

  memory::client_id client() { return static_cast<memory::client_id>(1 + below(9)); }

 private:
  std::int64_t below(std::uint64_t bound) { return static_cast<std::int64_t>(dice_() % bound); }
  bool one_in(std::uint64_t n) { return dice_() % n == 0; }
  duration lease() { return duration{1s} * (1 + below(10)); }
  fence proof(std::uint32_t who) { return fence{fences_[who] + (one_in(8) ? 4096 : below(4096))}; }
  static seam::who_ref who_is(std::uint32_t) { return nullptr; }

  seam::claim claim(const seam::name_ref& name, std::uint32_t who) {
    seam::claim fresh{.name = name, .owner = owner(who), .lease = lease(), .wait = !one_in(5)};
    // Mostly the same request of the same owner on the same name, as clients do; one of the names
    // is mostly a semaphore's.
    const auto habit = name == names_[1] ? 4 : (who + name->view().size()) % 4;
    const auto mode = one_in(12) ? static_cast<std::uint64_t>(below(5)) : habit;
    if (mode >= 2) fresh.mode = mode == 4 ? claim_mode::permit : claim_mode::shared;
    if (fresh.mode == claim_mode::permit) {
      fresh.of = one_in(12) ? 4 : 3;
      fresh.permits = static_cast<std::int32_t>(one_in(20) ? below(6) : 1 + below(3));
    }
    if (fresh.mode == claim_mode::exclusive && who % 2 == 0) {
      fresh.upgrade = true;
      if (!one_in(3)) fresh.beside = owner(static_cast<std::uint32_t>(1 + below(12)));
    }
    return fresh;
  }

  memory::request draw_cell(const seam::name_ref& name) {
    const fence token{below(4)};
    if (one_in(3)) return memory::read_cell_request{name, {}};
    if (one_in(4)) return memory::open_cell_request{name, token};
    const auto writer = static_cast<std::uint32_t>(1 + below(1000));
    return memory::swap_cell_request{{.name = name,
                                      .expected = one_in(2) ? version_ : 0,
                                      .value = std::to_string(writer),
                                      .writer = owner(writer),
                                      .token = token}};
  }

  void note(const owner_id& whom, std::int64_t first, seam::ticket_number ticket) {
    for (std::uint32_t who = 1; who <= 12; ++who) {
      if (owner(who) != whom) continue;
      if (first != 0) fences_[who] = first;
      if (ticket != 0) tickets_[who] = ticket;
    }
  }

  std::mt19937_64 dice_;
  const std::vector<seam::name_ref> names_{name_of("lot"), name_of("lots"), name_of("other")};
  std::map<std::uint32_t, std::int64_t> fences_;
  std::map<std::uint32_t, seam::ticket_number> tickets_;
  std::uint64_t version_ = 0;
};

/// Memory tells who a client is by what came with its claim, and sqlite by its list of clients.
void forget_who(memory::server::outcome& outcome) {
  const auto forget = [](lock_info& info) {
    for (claim_info& one : info.holders) one.who.clear();
    for (claim_info& one : info.line) one.who.clear();
  };
  if (auto* const look = std::get_if<memory::look_reply>(&outcome.answer)) forget(look->info);
  if (auto* const list = std::get_if<memory::list_reply>(&outcome.answer)) {
    for (lock_info& each : list->infos) forget(each);
  }
}

TEST(sqlite_line_likeness, maps_and_tables_answer_the_same_requests_alike) {
  std::map<std::string, int> reached;  // by the first two words of the answer
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    memory::rig maps{{.line_max = 4, .names_kept = 16}};
    table_rig tables{4};
    player dice{seed};
    for (int step = 0; step < 10'000; ++step) {
      const memory::request message = dice.draw();
      const memory::client_id from = dice.client();
      auto first = maps.apply(from, message);
      auto second = tables.apply(from, message);
      forget_who(first);
      forget_who(second);
      // Whom a write of a cell is told to is no matter of rows.
      if (!second.pushes.empty() && second.pushes[0].what == memory::push::kind::cell_changed) {
        second.pushes.clear();
      }
      const std::string words = said(first);
      ASSERT_EQ(words, said(second))
          << "step " << step << " from " << from << ": " << to_string(verb_of(message));
      ++reached[words.substr(0, words.find(' ', words.find(' ') + 1))];
      for (const memory::push& news : first.pushes) ++reached[std::string{to_string(news.what)}];
      dice.note(message, first);
      maps.now = tables.now = maps.now + dice.pause();
    }
    // Whoever is on a name is counted in its row.
    EXPECT_EQ(tables.number("SELECT coalesce(sum(crowd), 0) FROM locks"),
              tables.number("SELECT count(*) FROM claims"));
  }
  for (const char* const what : {"ask 0", "ask 1", "ask 2", "renew 0", "renew 1", "release 0",
                                 "release 1", "adopt 0", "adopt 1", "break 0", "break 1", "granted",
                                 "wanted", "revoked", "swap 0", "swap 1", "swap 2"}) {
    EXPECT_GT(reached[what], 50) << what << ": the dice must reach what they are to judge";
  }
  for (const errc code : {errc::conflict, errc::upgrade_conflict, errc::queue_full}) {
    EXPECT_GT(reached["refused " + std::to_string(static_cast<int>(code))], 50)
        << static_cast<int>(code);
  }
}

}  // namespace
}  // namespace crosslock::sqlite
