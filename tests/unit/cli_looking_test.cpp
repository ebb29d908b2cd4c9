// What the commands that look at locks decide without a server.
#include "cli/command.hpp"
#include "cli/looking/changes.hpp"
#include "cli/looking/kind.hpp"
#include "cli/looking/lock_json.hpp"
#include "cli/looking/lock_text.hpp"
#include "cli/looking/lock_viewer.hpp"
#include "cli/looking/repeat.hpp"
#include "cli/looking/who_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

claim_info claim(std::uint8_t who, claim_mode mode = claim_mode::exclusive) {
  claim_info made;
  made.owner = owner_id{owner_id::bytes_type{who}};
  made.mode = mode;
  made.who = "ann@web" + std::to_string(who) + " pid 7 psql (x)";
  made.age = who * 1s;
  made.lease_left = 10s;
  made.fence = fence{who};
  return made;
}

lock_info lock(const std::string& name, std::vector<claim_info> holders,
               std::vector<claim_info> line = {}) {
  return {.name = name, .holders = std::move(holders), .line = std::move(line)};
}

/// `released a 1, acquired a 2`
std::string shown(const std::vector<lock_event>& events) {
  std::string text;
  for (const lock_event& each : events) {
    text += (text.empty() ? "" : ", ") + std::string{to_string(each.what)} + ' ' + each.name + ' ' +
            std::to_string(each.claim.owner.bytes()[0]);
  }
  return text;
}

TEST(cli_who_text, is_taken_apart) {
  EXPECT_EQ(parse_who("ann@web1 pid 4711 crosslock (runs ./report)"),
            (who_parts{"ann", "web1", 4711, "crosslock", "runs ./report"}));
  EXPECT_EQ(parse_who("ann@web1 pid 4711 psql"), (who_parts{"ann", "web1", 4711, "psql", ""}));
  EXPECT_EQ(parse_who("1000@h.example.org pid 1 my program (a (b) c)"),
            (who_parts{"1000", "h.example.org", 1, "my program", "a (b) c"}));
  EXPECT_EQ(parse_who("ann@corp@web1 pid 4711 x"), (who_parts{"ann@corp", "web1", 4711, "x", ""}));
  EXPECT_EQ(parse_who("ann@web1 pid 3 x ( pid 5 y)"),
            (who_parts{"ann", "web1", 3, "x", " pid 5 y"}));
  EXPECT_EQ(parse_who("ann@web1 pid 3 x (open"), (who_parts{"ann", "web1", 3, "x (open", ""}));
}

TEST(cli_who_text, that_is_something_else_has_no_parts) {
  for (const char* text :
       {"", "?", "ann", "ann@web1", "ann@web1 pid", "ann@web1 pid x y", "ann@web1 pid 12",
        "ann@web1 pid -1 x", "ann@web1 pid 99999999999999999999 x", "@web1 pid 1 x", "ann pid 12 x",
        "another library, value 'a pid 3 b'"}) {
    EXPECT_EQ(parse_who(text), std::nullopt) << text;
  }
}

TEST(cli_kind, of_a_name) {
  EXPECT_EQ(kind_of("nightly").kind, "lock");
  EXPECT_EQ(kind_of("nightly").name, "nightly");
  EXPECT_EQ(kind_of("crosslock:{election}:app/x").kind, "election");
  EXPECT_EQ(kind_of("crosslock:{election}:app/x").name, "app/x");
  EXPECT_FALSE(kind_of("crosslock:x").is_internal());
  EXPECT_FALSE(kind_of("x}:y").is_internal());
  for (const char* name : {"nightly", "crosslock:{barrier}:x", "crosslock:{broken", "x}:y"}) {
    EXPECT_EQ(stored_name(kind_of(name)), name);
  }
}

TEST(cli_lock_viewer, see_internal_locks_within_a_prefix) {
  const std::vector<lock_info> all{lock("app/a", {claim(1)}), lock("app/z", {claim(2)}),
                                   lock("crosslock:{election}:app/b", {claim(3)}),
                                   lock("crosslock:{election}:other/b", {claim(4)}),
                                   lock("other", {claim(5)})};
  std::string names;
  for (const lock_info& each : within_prefix(all, "app/", "")) names += each.name + ' ';
  EXPECT_EQ(names, "a crosslock:{election}:b z ");
  EXPECT_EQ(within_prefix(all, "app/", "z").size(), 1U);
  EXPECT_EQ(within_prefix(all, "", "").size(), 5U);
}

TEST(cli_changes, of_nothing_are_none) {
  const std::vector<lock_info> now{lock("a", {claim(1)}, {claim(2)})};
  std::vector<lock_info> later = now;
  later[0].holders[0].age += 5s;
  later[0].holders[0].lease_left = 1s;
  EXPECT_EQ(shown(changes_between({}, {})), "");
  EXPECT_EQ(shown(changes_between(now, later)), "");
}

TEST(cli_changes, name_who_came_and_who_went) {
  const std::vector<lock_info> nobody;
  const std::vector<lock_info> held{lock("a", {claim(1)})};
  const std::vector<lock_info> wanted{lock("a", {claim(1)}, {claim(2), claim(3)})};
  const std::vector<lock_info> handed{lock("a", {claim(2)}, {claim(3)})};
  EXPECT_EQ(shown(initial_events(wanted)), "held a 1, waiting a 2, waiting a 3");
  EXPECT_EQ(shown(changes_between(nobody, held)), "acquired a 1");
  EXPECT_EQ(shown(changes_between(held, wanted)), "waiting a 2, waiting a 3");
  EXPECT_EQ(shown(changes_between(wanted, handed)), "released a 1, acquired a 2");
  EXPECT_EQ(shown(changes_between(wanted, held)), "left a 2, left a 3");
  EXPECT_EQ(shown(changes_between(handed, nobody)), "released a 2, left a 3");
  EXPECT_EQ(shown(changes_between(nobody, handed)), "acquired a 2, waiting a 3");
}

TEST(cli_changes, go_through_names_in_order) {
  const std::vector<lock_info> before{lock("a", {claim(1)}), lock("c", {claim(3)}),
                                      lock("d", {claim(4)})};
  const std::vector<lock_info> after{lock("b", {claim(2)}), lock("c", {claim(3)}),
                                     lock("e", {claim(5)})};
  EXPECT_EQ(shown(changes_between(before, after)),
            "released a 1, acquired b 2, released d 4, acquired e 5");
}

TEST(cli_changes, know_modes_and_foreign_locks) {
  const std::vector<lock_info> alone{lock("a", {claim(1)})};
  const std::vector<lock_info> together{lock("a", {claim(1, claim_mode::shared)})};
  EXPECT_EQ(shown(changes_between(alone, together)), "changed a 1");
  claim_info one;
  one.foreign = true;
  one.who = "value 'x'";
  claim_info other = one;
  other.who = "value 'y'";
  EXPECT_EQ(shown(changes_between({lock("a", {one})}, {lock("a", {one})})), "");
  EXPECT_EQ(shown(changes_between({lock("a", {one})}, {lock("a", {other})})),
            "released a 0, acquired a 0");
}

TEST(cli_lock_json, has_every_field) {
  claim_info holder = claim(1, claim_mode::permit);
  holder.permits = 2;
  holder.of = 5;
  const std::string all = lock_json(lock("crosslock:{barrier}:x", {holder}, {claim(2)})).dump();
  EXPECT_EQ(
      all,
      R"j({"name":"x","kind":"barrier","holders":[{"owner_id":"01000000000000000000000000000000",)j"
      R"j("mode":"permit","permits":2,"of":5,"fence":"1","age_ms":1000,"lease_left_ms":10000,)j"
      R"j("who":"ann@web1 pid 7 psql (x)","user":"ann","host":"web1","pid":7,)j"
      R"j("program":"psql","note":"x","foreign":false}],)j"
      R"j("line":[{"owner_id":"02000000000000000000000000000000","mode":"exclusive",)j"
      R"j("age_ms":2000,"who":"ann@web2 pid 7 psql (x)","user":"ann","host":"web2","pid":7,)j"
      R"j("program":"psql","note":"x","foreign":false}]})j");
}

TEST(cli_lock_json, of_a_foreign_holder_says_null_where_nothing_is_known) {
  claim_info holder;
  holder.foreign = true;
  holder.who = "ann@web1 pid 7 psql";  // whatever a foreign library may write
  holder.lease_left = duration::max();
  EXPECT_EQ(lock_json(lock("x", {holder})).dump(),
            R"j({"name":"x","kind":"lock","holders":[{"owner_id":null,"mode":"exclusive",)j"
            R"j("fence":null,"age_ms":null,"lease_left_ms":null,"who":"ann@web1 pid 7 psql",)j"
            R"j("user":null,"host":null,"pid":null,"program":null,"note":null,"foreign":true}],)j"
            R"j("line":[]})j");
}

TEST(cli_lock_json, has_no_control_characters_in_its_line) {
  std::ostringstream out;
  print_object(out, {{"who", "\x1b[2J\x7f\u009b2J\n\xff ü"}});
  EXPECT_EQ(out.str(), "{\"who\":\"\\u001b[2J\\u007f\\u009b2J\\n\uFFFD ü\"}\n");
  EXPECT_EQ(nlohmann::json::parse(out.str())["who"], "\x1b[2J\x7f\u009b2J\n\uFFFD ü");
}

TEST(cli_lock_text, sorts_by_what_is_most_waited_for) {
  std::vector<lock_info> all{
      lock("young", {claim(1)}), lock("old", {claim(9)}), lock("one long", {claim(1)}, {claim(8)}),
      lock("one short", {claim(1)}, {claim(2)}), lock("two", {claim(1)}, {claim(1), claim(1)})};
  sort_by_need(all);
  std::string names;
  for (const lock_info& each : all) names += each.name + ", ";
  EXPECT_EQ(names, "two, one long, one short, old, young, ");
}

TEST(cli_lock_text, shows_permits_and_internal_names) {
  claim_info two = claim(1, claim_mode::permit);
  two.permits = 2;
  two.of = 5;
  claim_info one = two;
  one.permits = 1;
  const lock_info some = lock("crosslock:{barrier}:x", {two, one});
  EXPECT_EQ(title_of(some), "x [barrier]");
  EXPECT_EQ(mode_text(two), "2 of 5");
  EXPECT_EQ(show_lines(lock("x", {two, one}), {})[1], "  3 of 5 permits taken");
  EXPECT_NE(top_lines({some}, {})[2].find("3 of 5"), std::string::npos);
}

TEST(cli_lock_text, of_nothing) {
  EXPECT_EQ(list_lines({}, {}), (std::vector<std::string>{"no locks"}));
  EXPECT_EQ(show_lines(lock("x", {}), {}),
            (std::vector<std::string>{"nobody holds 'x' or waits for it"}));
}

TEST(cli_interval, is_a_time_of_10_ms_or_more) {
  EXPECT_EQ(read_interval(std::nullopt, 3s), 3s);
  EXPECT_EQ(read_interval("0.5", 3s), 500ms);
  EXPECT_EQ(read_interval("10ms", 3s), 10ms);
  for (const char* text : {"0", "9ms", "", "x", "-1"}) {
    EXPECT_THROW(read_interval(text, 3s), usage_error) << text;
  }
}

}  // namespace
}  // namespace crosslock::cli
