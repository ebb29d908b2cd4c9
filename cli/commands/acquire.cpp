// The lock is either on a receipt that was printed, or given back.
#include "cli/commands/acquire.hpp"

#include "cli/connected.hpp"
#include "cli/exit_code.hpp"
#include "cli/identity.hpp"
#include "cli/receipt_io.hpp"
#include "cli/say.hpp"
#include "cli/standard_output.hpp"
#include "cli/target.hpp"
#include "cli/waiting.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace crosslock::cli {
namespace {

struct acquire_flags {
  std::string name;
  target_flags where;
  claim_flags claim;
  identity_flags self;
  std::optional<std::string> format;
};

/// A receipt that nobody has yet: unless it is handed out, the lock is given back.
class unspent_receipt {
 public:
  unspent_receipt(const client& locks, receipt given) : locks_{locks}, given_{std::move(given)} {}
  unspent_receipt(const unspent_receipt&) = delete;
  unspent_receipt& operator=(const unspent_receipt&) = delete;
  ~unspent_receipt() {
    if (!spent_) give_back();
  }

  const receipt& given() const noexcept { return given_; }
  void spent() noexcept { spent_ = true; }

 private:
  void give_back() noexcept {
    try {
      const release_result result = locks_.release(given_);
      if (result == release_result::released) {
        complain("'" + given_.name.str() + "' was given back");
      }
      if (result != release_result::unknown) return;
    } catch (const std::exception&) {
      // Said below: it is the same for who reads it.
    }
    complain("no answer to the release of '" + given_.name.str() +
             "': it stays locked until its lease ends");
  }

  const client& locks_;
  const receipt given_;
  bool spent_ = false;
};

/// 0, or the signal that came first.
int hand_out(const client& locks, hold& held, const acquire_flags& flags, receipt_format format,
             signal_inbox& signals) {
  unspent_receipt unspent{locks, held.detach()};
  // The lease counts from here, the whole of it: a handover brings only an offer.
  const duration lease = locks.renew(unspent.given());
  const int ended_by = write_out(shown(unspent.given(), flags.name, lease, format), signals);
  if (ended_by == 0) unspent.spent();
  return ended_by;
}

int acquire_with(const client& locks, const lock_name& name, const acquire_flags& flags,
                 const claim_request& claim, calls& answers, int& ended_by) {
  const receipt_format format = read_format(flags.format);
  signal_inbox signals;
  waited outcome = wait_for(locks, name, claim, {answers, signals}, locks.lease());
  ended_by = outcome.ended_by;
  if (outcome.held) {
    ended_by = hand_out(locks, *outcome.held, flags, format, signals);
    return exit_code::success;
  }
  if (ended_by == 0 && claim.busy_code != exit_code::success) complain(busy_text(locks, name));
  return claim.busy_code;
}

int acquire(const acquire_flags& flags) {
  int ended_by = 0;
  int code = exit_code::internal;
  {
    const lock_name name{flags.name};  // before anything is connected to
    const claim_request claim = read_claim(flags.claim);
    target where = find_target(flags.where);
    where.how.who = note(flags.self, "by a receipt");
    require_receipts(where);
    require_standard_output();
    calls answers;
    where.how.executor = answers.executor();
    const client locks = connect(where.url, std::move(where.how));
    const closed_in_the_end closing{locks};
    code = acquire_with(locks, name, flags, claim, answers, ended_by);
  }
  if (ended_by != 0) die_of(ended_by);
  return code;
}

constexpr const char* acquire_footer =
    R"(Prints one word, the receipt, for 'crosslock renew' and 'crosslock release': keep it secret.
With --format env it prints CROSSLOCK_RECEIPT, CROSSLOCK_NAME, CROSSLOCK_FENCE, CROSSLOCK_OWNER_ID
and CROSSLOCK_ENGINE. Nobody renews the lock: it is free again when its lease ends (--lease).)";

}  // namespace

command offer_acquire(command_line& program) {
  command_words words = program.add_command("acquire", "Take a lock and print a receipt for it");
  words.footer(acquire_footer);
  const auto flags = std::make_shared<acquire_flags>();
  words.add_option("NAME", flags->name, "The lock").required().untyped();
  offer_claim(words, flags->claim);
  offer_target(words, flags->where);
  offer_lease(words, flags->where);
  offer_identity(words, flags->self);
  offer_format(words, flags->format);
  return {words, [flags] { return acquire(*flags); }};
}

}  // namespace crosslock::cli
