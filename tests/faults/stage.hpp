// The place where a fault case plays: one server of one engine, or whatever stands for it, and the
// processes that share it. A new engine implements this and gets every case of its matrix cells.
//
// What the engine promises is said by `bounds` and `protocol`; what can be done to this place by
// the abilities that it is offered with (suites.hpp). No case knows the engine's name.
#pragma once

#include "faults/fault_case.hpp"
#include "proxy/fault_proxy.hpp"

#include <crosslock/crosslock.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::faults {

/// What a place has, or what can be done to it. A cell of the matrix that is n/a is an ability that
/// no stage of the engine is offered with.
enum class ability {
  everyday,  ///< processes that die, freeze and are cut off; stored things that others take away
  network,   ///< a wire, on which messages are late, lost, cut in two or repeated
  server,    ///< a process that keeps over its death what it has answered, and that can be stopped
  outages,   ///< it can be made to serve nobody
  strikes,   ///< it can be hit again and again, and serves at once afterwards
  rollback,  ///< what it has stored last can be lost
  crowds,    ///< it is made for thousands of waiters and names
  room,      ///< it can be made to have no room for another client
  rights,    ///< users can lose theirs
};

/// For the checker: how long a free lock may be kept from who waits, case by case.
struct calm_bounds {
  duration frozen_head = 6s;
  duration cut_off_head = 6s;  // its requests of before are lost, for the time of a request
  duration frozen_line = look_cap;
  duration late_release = look_cap;
  duration cycle = look_cap;
  duration reset = look_cap;
  duration late_answer = look_cap;
  duration news = look_cap;
  duration restart = look_cap;
  duration stop = look_cap;
  duration outage = look_cap;
  duration strikes = look_cap;
};

/// Leases are of three kinds: those that shall end, those that must not, however busy the machine
/// is, and those between, which renewals keep.
struct bounds {
  duration brief = lease;         ///< shall end
  duration renewed = lease;       ///< kept by renewals, as short as the engine's promises need
  duration lasting = long_lease;  ///< must not end
  duration patient = long_lease;  ///< nor when the server is away for a while
  duration mortal = lease;        ///< of a holder that is killed

  duration after_lease;            ///< from the end of a lease until the next is in
  duration after_death;            ///< from a holder's death until the next is in
  duration after_line_death;       ///< the same when the line dies with it
  duration frozen_head;            ///< what the head of the line costs that does not take its turn
  duration frozen_line;            ///< and three of them
  duration settled;                ///< when a hold is so old its removal is told as promised
  duration break_told = stall;     ///< from a break_lock() until its holder knows
  duration after_stop = look_cap;  ///< from the end of a server's stop until the next is in
  duration after_restart = look_cap;  ///< from a release after a restart until the next is in
  duration looks_after_restart{};     ///< until somebody can look again; none: the first time
  std::vector<duration> moments;      ///< after a grant, at which a kill is another one
  duration between_resets = 50ms;
  duration after_fault = lease + 5s;  ///< for the checker
  calm_bounds calm{};
};

/// How the requests of the engine look on the wire, and what it promises about them.
struct protocol {
  using sighting_test = std::function<bool(const proxy::sighting&)>;
  struct step {
    std::string name;
    sighting_test matches;
    std::uint64_t skip = 0;
    bool repeatable = true;  ///< it may be carried out twice
  };

  sighting_test any;                                      ///< a request that carries out a verb
  std::function<sighting_test(observer::verb)> is;        ///< that verb
  std::vector<step> cycle;                                ///< acquire, renew, release
  std::optional<std::uint64_t> requests_in_cycle;         ///< if they can be counted
  duration cycle_work;                                    ///< so long it is held meanwhile
  duration timeout;                                       ///< of a request in it
  duration next_in;                                       ///< after it, whatever has happened
  bool silence_may_cost_the_hold = false;                 ///< other requests wait behind a lost one
  std::uint64_t repeated_releases = proxy::rule::always;  ///< how many are late in the same way
  bool answers_late_requests = true;                      ///< the connection is still there
  bool late_grant_may_be_lost = false;                    ///< even if it was asked for anew
  duration late_gone;                                     ///< until nothing of a late grant is left
  std::size_t cut_answer;                                 ///< bytes of an answer that is cut in two
  std::size_t cut_request;                                ///< and of a request
  proxy::fate unanswered = proxy::fate::mute();           ///< of an answer that never comes
  std::uint64_t trickled = 3;                             ///< so many messages in three cycles
  duration trickle_pause = 500us;
};

/// What is done to the server, to what it stores, or to a process.
struct harm {
  using act = std::function<void(real_actor& victim)>;
  static void nothing(real_actor&) {}

  std::string name;
  act begin;
  act meanwhile = nothing;  ///< when the fault has had its effect on the others
  act end = nothing;
  act after = nothing;  ///< when the rest has been found to go on
  duration noticed{};   ///< from then until a holder knows
  duration next_in{};   ///< from then until the next is in
  /// Of a wipe: not only while nobody holds or waits.
  bool amid_holds = true;
};

/// One thread at a time where it says nothing else.
class stage {
 public:
  stage() = default;
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  virtual ~stage() = default;

  virtual const faults::bounds& bounds() const = 0;

  /// A client of this process. Thread-safe.
  virtual client connect(options how) = 0;
  /// Another process; `timeout` of its requests, if it is given.
  virtual std::unique_ptr<real_actor> start(const std::string& name, duration with_lease,
                                            duration timeout = {}) = 0;
  virtual conformance::resource& numbers() = 0;
  virtual checker::recorder& book() = 0;
  virtual checker::history history() = 0;
  virtual std::vector<std::string> leftovers() = 0;
  /// At the end of every case: nothing is wrong with what is stored.
  virtual void expect_sound() {}

  // ability::everyday
  virtual void lose_next_answer(observer::verb to) = 0;
  /// Ways in which the hold of `name` can be taken away by hand.
  virtual std::vector<harm> removals() = 0;
  /// How many places in the line of `name` were taken away by hand.
  virtual int remove_places() = 0;
  virtual std::vector<harm> wipes() = 0;
  /// Ways in which the wake-ups of a waiter die.
  virtual std::vector<harm> news_harms() = 0;

  // ability::network
  virtual proxy::door& wire(std::int32_t number) { return cannot<proxy::door&>(number); }
  virtual faults::protocol protocol() { return cannot<faults::protocol>(0); }
  /// Of that process, as a network would do in its nth bad moment.
  virtual void reset_connections(const real_actor& whose, std::size_t nth) {
    (void)nth;
    wire(whose.number()).reset();
  }
  /// What must outlive the connections of that process; 0 when there is no such thing.
  virtual std::int64_t session_of(const real_actor&) { return 0; }

  // ability::server
  virtual void kill_server() { cannot<void>(0); }
  virtual void start_server() { cannot<void>(0); }
  virtual void stop_server() { cannot<void>(0); }  ///< SIGSTOP
  virtual void go_on_server() { cannot<void>(0); }

  // ability::outages; the victim is a holder
  virtual std::vector<harm> outages() { return cannot<std::vector<harm>>(0); }

  // ability::strikes
  struct strike_plan {
    int cycles;    ///< of each process
    int rounds;    ///< strikes, as long as there is work
    int at_least;  ///< of them
    int progress;  ///< cycles between two of them
  };
  virtual strike_plan strikes() { return cannot<strike_plan>(0); }
  virtual void strike(int round) { cannot<void>(round); }

  // ability::rollback
  virtual void remember() { cannot<void>(0); }
  /// As a crash would find the stored data again that lost all since then.
  virtual void roll_back() { cannot<void>(0); }
  /// Processes may be connected meanwhile.
  virtual bool clients_outlive_rollback() { return cannot<bool>(0); }

  // ability::crowds
  struct crowd_plan {
    std::size_t waiters;
    duration with_lease;
    duration look_every{};  ///< none: as usual
  };
  virtual crowd_plan crowd() { return cannot<crowd_plan>(0); }
  virtual std::size_t line_length(const client& viewer, const std::string& name) {
    return viewer.look(name).line.size();
  }
  /// The line is full, if so many fill it; whoever is refused leaves nothing behind.
  virtual void expect_refusal(const client& viewer, mutex& lock) { (void)viewer, (void)lock; }
  /// What a herd would have too much of; and how much of it so many waiters may cost in that time.
  virtual std::uint64_t effort() { return cannot<std::uint64_t>(0); }
  virtual std::uint64_t effort_for(std::size_t waiters, duration) {
    return cannot<std::uint64_t>(waiters);
  }
  /// After fifty thousand names were used once.
  virtual void expect_little_is_stored() { cannot<void>(0); }

  // ability::room
  virtual void leave_no_room() { cannot<void>(0); }
  virtual void make_room() { cannot<void>(0); }
  /// Whether an error says what whoever finds no room must know.
  virtual bool tells_no_room(const error&) { return cannot<bool>(0); }

  // ability::rights
  virtual std::string url_with(const std::string& password) {
    return cannot<std::string>(password);
  }
  /// Ways in which the user of that URL loses its rights; the end of each gives them back.
  struct deprivation {
    std::string name;
    std::function<void()> begin;
    std::function<void()> end;
  };
  virtual std::vector<deprivation> deprivations(const std::string& password) {
    return cannot<std::vector<deprivation>>(password);
  }
  virtual bool tells_no_rights(errc code) { return code == errc::denied; }

 private:
  template <class Result, class Argument>
  static Result cannot(const Argument&) {
    throw std::logic_error{"this stage is offered with an ability that it does not have"};
  }
};

/// The four ways in which a single server can be away.
template <class Server, class Doors>
std::vector<harm> outages_of(Server& server, Doors doors) {
  const auto each_door = [doors](void (*what)(proxy::door&)) {
    return [doors, what](real_actor&) {
      for (proxy::door* const each : doors()) what(*each);
    };
  };
  return {{.name = "killed",
           .begin = [&server](real_actor&) { server.kill(); },
           .end = [&server](real_actor&) { server.start(); }},
          {.name = "stopped",
           .begin = [&server](real_actor&) { server.stop(); },
           .end = [&server](real_actor&) { server.go_on(); }},
          {.name = "refused",
           .begin = each_door([](proxy::door& each) {
             each.refuse_new(true);
             each.reset();
           }),
           .end = each_door([](proxy::door& each) { each.refuse_new(false); })},
          {.name = "cut off",
           .begin = each_door([](proxy::door& each) { each.cut(); }),
           .end = each_door([](proxy::door& each) { each.heal(); })}};
}

/// With the testbed of an engine.
template <class Testbed>
class stage_in : public stage {
 public:
  client connect(options how) override { return testbed_.connect(std::move(how)); }
  std::unique_ptr<real_actor> start(const std::string& name, duration with_lease,
                                    duration timeout) override {
    typename Testbed::how_to_start how;
    if (timeout > duration{}) {
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
      how.parameters = timeout_prefix_ + std::to_string(ms) + "ms";
    }
    auto started = testbed_.start_process(name, with_lease, how);
    last_number_ = started->number();
    return started;
  }
  conformance::resource& numbers() override { return testbed_.numbers(); }
  checker::recorder& book() override { return testbed_.book(); }
  checker::history history() override { return testbed_.history(); }
  std::vector<std::string> leftovers() override { return testbed_.leftovers(); }

 protected:
  /// `timeout_prefix`: how a URL of the testbed goes on before the timeout of requests.
  template <class... Arguments>
  explicit stage_in(std::string timeout_prefix, Arguments&&... arguments)
      : timeout_prefix_{std::move(timeout_prefix)},
        testbed_{std::forward<Arguments>(arguments)...} {}

  Testbed& testbed() { return testbed_; }
  void note(checker::fault what) { book().nemesis(now(), what); }
  /// Of every process so far, and of this one.
  std::vector<proxy::door*> all_wires() {
    std::vector<proxy::door*> all;
    for (std::int32_t number = 0; number <= last_number_; ++number) all.push_back(&wire(number));
    return all;
  }

 private:
  const std::string timeout_prefix_;
  Testbed testbed_;
  std::int32_t last_number_ = 0;
};

}  // namespace crosslock::faults
