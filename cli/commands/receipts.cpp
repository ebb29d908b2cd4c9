// What is done with a receipt: it names its lock in full, so no prefix is put before it.
#include "cli/commands/receipts.hpp"

#include "cli/connected.hpp"
#include "cli/exit_code.hpp"
#include "cli/receipt_io.hpp"
#include "cli/say.hpp"
#include "cli/target.hpp"
#include "cli/times.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::cli {
namespace {

struct receipt_flags {
  std::vector<std::string> given;
  target_flags where;
  std::optional<std::string> format;
  bool json = false;
};

void offer_common(command_words& words, receipt_flags& flags) {
  offer_receipt(words, flags.given);
  words.add_option("--url", flags.where.url, "Where locks are kept (see man crosslock)");
}

target target_of(const receipt_flags& flags, const receipt& given) {
  target where = find_target(flags.where);
  where.how.prefix = "";
  require_receipts(where, given);
  return where;
}

std::string gone_text(const receipt& given) {
  return "nothing is held by this receipt for '" + given.name.str() +
         "': it was released before, its lease has ended, somebody has taken the lock away, or the "
         "receipt is not genuine";
}

int renew(const receipt_flags& flags) {
  // Somebody has forgotten the time; the complaint about it would quote the receipt.
  if (flags.where.lease && flags.where.lease->starts_with("crosslock1:")) {
    throw usage_error{"--lease is followed by a receipt: expected a time such as 30s"};
  }
  const receipt given = read_receipt(flags.given, std::cin);
  target where = target_of(flags, given);
  const client locks = connect(where.url, std::move(where.how));
  const closed_in_the_end closing{locks};
  try {
    const duration lease = locks.renew(given);
    const receipt_format format = flags.json ? receipt_format::json : read_format(flags.format);
    if (format != receipt_format::bare) {
      std::cout << shown(given, given.name.view(), lease, format) << std::flush;
    }
    return exit_code::success;
  } catch (const error& why) {
    if (why.which() != errc::lost) throw;
    complain(gone_text(given));
    return exit_code::lost;
  }
}

/// Whether the lock is there no more, as far as can be seen.
bool has_gone(const client& locks, const receipt& given) {
  try {
    const lock_info seen = locks.look(given.name.view());
    return std::none_of(seen.holders.begin(), seen.holders.end(),
                        [&](const claim_info& one) { return one.owner == given.owner; });
  } catch (const error&) {
    return false;
  }
}

int release(const receipt_flags& flags) {
  const receipt given = read_receipt(flags.given, std::cin);
  target where = target_of(flags, given);
  const client locks = connect(where.url, std::move(where.how));
  const closed_in_the_end closing{locks};
  switch (locks.release(given)) {
    case release_result::released:
      return exit_code::success;
    case release_result::unknown:
      // The answer was lost on its way, perhaps behind a release that was carried out.
      if (has_gone(locks, given)) return exit_code::success;
      complain("no answer to the release of '" + given.name.str() +
               "': it may stay locked until its lease ends; try again");
      return exit_code::unreachable;
    default:
      complain(gone_text(given));
      return exit_code::lost;
  }
}

constexpr const char* renew_footer =
    R"(Without RECEIPT the one in CROSSLOCK_RECEIPT is taken. The receipt stays good. Exits with 79
when the lock is no longer held by it.)";
constexpr const char* release_footer =
    R"(Without RECEIPT the one in CROSSLOCK_RECEIPT is taken. Exits with 79 when the lock was no
longer held by it.)";

}  // namespace

command offer_renew(command_line& program) {
  command_words words = program.add_command("renew", "Extend the lease of a lock by receipt");
  words.footer(renew_footer);
  const auto flags = std::make_shared<receipt_flags>();
  offer_common(words, *flags);
  words.add_option("--lease", flags->where.lease, "The lease from now on: 30s");
  offer_format(words, flags->format);
  words.add_flag("--json", flags->json, "The same as --format json");
  return {words, [flags] { return renew(*flags); }};
}

command offer_release(command_line& program) {
  command_words words = program.add_command("release", "Give a lock back by receipt");
  words.footer(release_footer);
  const auto flags = std::make_shared<receipt_flags>();
  offer_common(words, *flags);
  return {words, [flags] { return release(*flags); }};
}

}  // namespace crosslock::cli
