#include "cli/commands/doctor.hpp"

#include "cli/exit_code.hpp"
#include "cli/say.hpp"
#include "cli/target.hpp"
#include "client/opening.hpp"
#include "engine/owner_source.hpp"

#include <crosslock/error.hpp>

#include <array>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace crosslock::cli {
namespace {

using seam::severity;

/// Nobody waits here, so nothing is told.
class ignored_events final : public seam::engine_events {
 public:
  void answered(const seam::claim&, const seam::answer&) noexcept override {}
  void granted(const seam::grant&) noexcept override {}
  void look_again(seam::claim_key) noexcept override {}
  void wanted(seam::claim_key) noexcept override {}
  void failed(seam::claim_key, const error&) noexcept override {}
};

struct closed_at_the_end {
  seam::engine& engine;
  ~closed_at_the_end() { engine.close(); }
};

/// The one name that is used for trying. Its fence may stay behind, as that of every lock does.
constexpr const char* tried_name = "crosslock-doctor";

/// How long it took to take it and to give it back; empty when somebody else has it.
std::optional<duration> take_once(seam::engine& engine, const seam::name_ref& name,
                                  duration timeout, seam::clock& clock) {
  seam::owner_source owners{clock};
  const seam::claim request{.name = name,
                            .owner = owners.draw(),
                            .mode = claim_mode::exclusive,
                            .permits = 1,
                            .of = 1,
                            .lease = std::chrono::seconds{5},
                            .wait = false};
  const time_point before = clock.now();
  const seam::answer answer = engine.ask(request, before + timeout);
  if (answer.result != seam::ask_result::granted) return std::nullopt;
  engine.release(answer.granted, clock.now() + timeout);
  return clock.now() - before;
}

seam::finding try_lock(seam::engine& engine, const inner::settings& settings, seam::clock& clock) {
  const auto name = std::make_shared<const lock_name>(settings.prefix + tried_name);
  const std::string quoted = "'" + name->str() + "'";
  // The first time a server may have to be told how.
  (void)take_once(engine, name, settings.timeout, clock);
  const auto taken = take_once(engine, name, settings.timeout, clock);
  if (!taken) return {severity::note, "lock", "somebody else holds " + quoted + " just now", {}};
  const auto micros = std::to_string(*taken / std::chrono::microseconds{1});
  return {severity::note, "lock", quoted + " was taken and given back in " + micros + " us", {}};
}

/// Shows one finding after another.
class sheet {
 public:
  sheet(std::ostream& out, bool json) : out_{out}, json_{json} {}

  void head(const std::string& url) {
    if (!json_) out_ << url << '\n';
  }
  void add(const seam::finding& one) {
    constexpr std::array<const char*, 3> words{"note", "warning", "refusal"};
    const char* const weight = words.at(static_cast<std::size_t>(one.weight));
    if (one.weight == severity::refusal && code_ == exit_code::success) {
      code_ = exit_code_of(error{one.code, one.text});
    }
    if (json_) {
      print_line(out_, {{"weight", weight}, {"topic", one.topic}, {"text", one.text}});
    } else {
      out_ << std::left << std::setw(9) << weight << std::setw(13) << one.topic << one.text << '\n';
    }
  }
  int code() const noexcept { return code_; }

 private:
  std::ostream& out_;
  const bool json_;
  int code_ = exit_code::success;
};

struct doctor_request {
  target_flags where;
  bool json = false;
};

int examine(const doctor_request& wanted, std::ostream& out) {
  target found = find_target(wanted.where);
  found.how.retry.tries = 0;
  const inner::opening_plan plan = inner::plan_opening(found.url, found.how);
  sheet shown{out, wanted.json};
  shown.head(found.shown());
  seam::clock& clock = seam::real_clock();
  ignored_events events;
  const char* doing = "connect";
  try {
    const auto engine = inner::open_engine(plan, events, clock);
    const closed_at_the_end closing{*engine};
    doing = "examine";
    for (const auto& one : engine->examine(clock.now() + plan.settings.timeout)) shown.add(one);
    doing = "lock";
    shown.add(try_lock(*engine, plan.settings, clock));
  } catch (const error& why) {
    shown.add({severity::refusal, doing, why.what(), why.which()});
  }
  return shown.code();
}

}  // namespace

command offer_doctor(command_line& program) {
  command_words words =
      program.add_command("doctor", "Say whether locks are well kept where they are kept");
  const auto wanted = std::make_shared<doctor_request>();
  offer_target(words, wanted->where);
  words.add_flag("--json", wanted->json, "One JSON object per line");
  return {words, [wanted] { return examine(*wanted, std::cout); }};
}

}  // namespace crosslock::cli
