// A session engine over a tree that is a map. Nothing happens by itself: requests lie on their way
// until they are served or cut off.
#pragma once

#include "session/asking_line.hpp"
#include "session/engine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::session {

using namespace std::chrono_literals;

class small_tree final : public tree {
 public:
  explicit small_tree(session_listener& listener) : listener_{listener} { begin_session(); }

  using tree::send;
  void send(std::span<asked> all, session_number session) override {
    const bool past = session != any_session && session != life_.session;
    if (!connected || past) throw error{errc::unreachable, "not connected"};
    for (asked& one : all) under_way_.push_back(std::move(one));
  }
  bool await(flight& mine, time_point) override {
    if (std::exchange(cut_next, false)) {
      cut(carry_out_cut);
      if (comes_back) reconnect();
    } else {
      serve();
    }
    return mine.landed();
  }
  bool await_so_far(flight& mine, time_point until) override { return await(mine, until); }
  bool closing() const noexcept override { return false; }
  void require(time_point) override {
    if (!connected) throw error{errc::unreachable, "not connected"};
  }
  void await_news(seam::park_word&, std::uint32_t, time_point) override {}
  void rouse(seam::park_word&) noexcept override {}
  void expect_news(int more) noexcept override { expected += more; }
  life now() const override { return life_; }
  life await_proof(time_point, time_point) override { return life_; }
  duration beat_interval() const override { return 0s; }
  const std::string& shown() const noexcept override { return shown_; }

  /// Carries out what is on its way and answers it, until nothing more comes.
  void serve() {
    while (!under_way_.empty()) {
      asked next = std::move(under_way_.front());
      under_way_.pop_front();
      ++requests;
      response said = carry_out(next.what);
      if (next.then) next.then(said);
    }
  }
  std::size_t on_their_way() const { return under_way_.size(); }
  /// The connection is lost: nobody is answered, whether it was carried out or not.
  void cut(bool carried_out) {
    connected = false;
    for (asked& one : std::exchange(under_way_, {})) {
      if (carried_out) carry_out(one.what);
      response said{.what = response::result::cut_off};
      if (one.then) one.then(said);
    }
    listener_.suspended(error{errc::unreachable, "cut off"});
  }
  void reconnect() {
    connected = true;
    listener_.resumed(life_.session);
  }
  /// The servers have ended it, and there is another one already.
  void end_session() {
    const session_number ended = life_.session;
    lasts_->end();
    std::erase_if(nodes, [&](const auto& each) { return each.second.owner == life_.id; });
    begin_session();
    listener_.ended(ended);
    listener_.resumed(life_.session);
  }
  /// Somebody's hand.
  void remove(std::string path) { change_node(std::move(path), event::kind::erased); }
  void beat() { listener_.beat(); }

  struct node {
    std::string data;
    std::int64_t owner = 0;
    std::int64_t born = 0;
  };
  std::map<std::string, node> nodes;
  std::set<std::string> watched;
  bool connected = true;
  // What becomes of the next flight that somebody waits for.
  bool cut_next = false;
  bool carry_out_cut = false;
  bool comes_back = true;
  int requests = 0;
  int expected = 0;

 private:
  void begin_session() {
    lasts_ = std::make_shared<seam::session>(seam::real_clock().now(), 10s);
    life_ = {.session = life_.session + 1,
             .id = 100 + static_cast<std::int64_t>(life_.session),
             .timeout = 10s,
             .proven = seam::real_clock().now(),
             .lasts = lasts_};
  }
  /// By value: it may be the very key that goes.
  void change_node(const std::string path, event::kind what) {
    if (what == event::kind::erased) nodes.erase(path);
    if (watched.erase(path) > 0) listener_.heard({what, path});
  }
  response carry_out(const request& what) {
    const auto found = nodes.find(what.path);
    response said;
    if (what.what == request::kind::create) {
      const std::string path = what.path + std::to_string(100000 + ++count_);
      nodes[path] = {what.data, life_.id, count_};
      said.path = path;
      said.facts = {.born = count_, .owner = life_.id};
    } else if (what.what == request::kind::children) {
      std::vector<const char*> names;
      for (const auto& [path, one] : nodes) {
        if (path.starts_with(what.path + '/')) names.push_back(path.c_str() + what.path.size() + 1);
      }
      said.names = name_list{names};
    } else if (what.what == request::kind::transaction) {  // a holder's last word
      if (!nodes.contains(what.changes.front().path)) {
        said.what = response::result::missing;
        return said;
      }
      change_node(what.changes.front().path, event::kind::written);
      change_node(what.changes.back().path, event::kind::erased);
    } else if (what.what != request::kind::sync && found == nodes.end()) {
      said.what = response::result::missing;
    } else if (what.what == request::kind::erase) {
      change_node(what.path, event::kind::erased);
    } else if (what.what != request::kind::sync) {
      said.data = found->second.data;
      said.facts = {.born = found->second.born, .owner = found->second.owner};
      if (what.watch) watched.insert(what.path);
    }
    return said;
  }

  session_listener& listener_;
  const std::string shown_ = "the tree";
  std::deque<asked> under_way_;
  std::int64_t count_ = 0;
  life life_;
  std::shared_ptr<seam::session> lasts_;
};

/// `<owner>-<w or r>-<number>`.
class plain_words final : public claim_codec {
 public:
  explicit plain_words(const tree& wire) : wire_{wire} {}

  void locate(standing& mine) const override {
    mine.name_path = mine.parent = '/' + mine.claim.name->str();
  }
  request place_for(const standing& mine) const override {
    const char* const mode = mine.claim.mode == claim_mode::shared ? "-r-" : "-w-";
    return create(below(mine.parent, mine.claim.owner.to_string() + mode), "ours",
                  node_life::ephemeral_sequential, rights::own_node);
  }
  std::vector<request> parents_of(const standing&) const override { return {sync("/")}; }
  void note_place(standing& mine, const std::string& path, const node_facts& facts) const override {
    mine.node = path;
    mine.first = fence{facts.born << 12};
  }
  request removal_of(const standing& mine) const override {
    if (!mine.was_held) return erase(mine.node);
    return transaction({{.what = change::kind::write, .path = mine.node, .data = {}},
                        {.what = change::kind::erase, .path = mine.node, .data = {}}});
  }
  std::vector<std::string> folders_of(const standing& mine) const override { return {mine.parent}; }
  std::vector<member> read_line(const name_list& listed) const override {
    std::map<std::string_view, std::string_view> by_number;
    for (const std::string_view one : listed) by_number[one.substr(one.rfind('-'))] = one;
    std::vector<member> line;
    for (const auto& [number, one] : by_number) {
      const bool shares = one.find("-r-") != std::string_view::npos;
      line.push_back({one, {.mode = shares ? claim_mode::shared : claim_mode::exclusive}});
    }
    return line;
  }
  std::optional<owner_id> owner_of(std::string_view child) const override {
    return owner_id::parse(child.substr(0, child.find('-')));
  }
  bool is_ours(std::string_view data) const override { return data == "ours"; }
  bool is_present(const node_facts& facts) const override { return facts.owner == wire_.now().id; }
  error make_error(errc code, const std::string& text, bool outcome_unknown) const override {
    return {code, text, {.engine = "small", .outcome_unknown = outcome_unknown}};
  }
  error error_in(const response& said, const std::string& what) const override {
    return make_error(errc::unreachable, "cannot " + what, said.cut_off());
  }
  error error_below(const std::string& path) const override {
    return make_error(errc::conflict, path, false);
  }

 private:
  const tree& wire_;
};

/// What the core would be told.
class told final : public seam::engine_events {
 public:
  void answered(const seam::claim& claim, const seam::answer& answer) noexcept override {
    answers[claim.owner].push_back(answer);
  }
  void granted(const seam::grant& grant) noexcept override { pushed[grant.owner] = grant; }
  void look_again(seam::claim_key key) noexcept override { ++looks[key.owner]; }
  void wanted(seam::claim_key key) noexcept override { ++wants[key.owner]; }
  void failed(seam::claim_key key, const error& why) noexcept override {
    failures.insert_or_assign(key.owner, why);
  }
  void session_cut() noexcept override { ++cuts; }

  std::map<owner_id, std::vector<seam::answer>> answers;
  std::map<owner_id, seam::grant> pushed;
  std::map<owner_id, int> looks;
  std::map<owner_id, int> wants;
  std::map<owner_id, error> failures;
  int cuts = 0;
};

class small_engine final : public engine {
 public:
  explicit small_engine(told& events)
      : engine{[](session_listener& listener) {
                 auto wire = std::make_unique<small_tree>(listener);
                 auto words = std::make_unique<plain_words>(*wire);
                 return parts{std::move(wire), std::move(words)};
               },
               events,
               seam::real_clock(),
               {}} {}

  small_tree& wire() { return static_cast<small_tree&>(environment_.wire); }

  const seam::traits& about() const noexcept override { return traits_; }
  bool break_lock(const lock_name&, owner_id, time_point) override { return false; }
  lock_info look(const lock_name&, time_point) override { return {}; }
  std::vector<lock_info> list(std::string_view, time_point) override { return {}; }
  seam::cell read_cell(const lock_name&, time_point) override { return {}; }
  seam::swap_answer swap_cell(const seam::cell_swap&, time_point) override { return {}; }
  std::optional<seam::cell> open_cell(const lock_name&, fence, time_point) override { return {}; }
  void close() noexcept override { forget_staying(); }
  void abandon() noexcept override {}

 private:
  void refuse(const seam::claim&) const override {}
  std::shared_ptr<asking> way_of(const standing_ref& mine, asking::told then) override {
    return std::make_shared<asking_line>(environment_, mine, std::move(then));
  }
  /// Nobody hears whether it was done.
  void share(seam::renewal& item, time_point) override {
    const seam::lock_guard guard{table_.mutex};
    table_.find(item.held.owner)->replacing = true;
  }

  const seam::traits traits_{.name = "small", .lease_is_session = true};
};

}  // namespace crosslock::session
