// What is done with a receipt: it names its lock in full, so no prefix is put before it.
#include "cli/commands/receipts.hpp"

#include "cli/connected.hpp"
#include "cli/exit_code.hpp"
#include "cli/paper.hpp"
#include "cli/place.hpp"
#include "cli/say.hpp"
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
  place_flags where;
  std::optional<std::string> format;
  bool json = false;
};

void offer_common(CLI::App& words, receipt_flags& flags) {
  offer_receipt(words, flags.given);
  words.add_option("--url", flags.where.url, "Where locks are kept (see man crosslock)");
}

place place_of(const receipt_flags& flags, const receipt& paper) {
  place where = find_place(flags.where);
  where.how.prefix = "";
  require_receipts(where, paper);
  return where;
}

std::string gone_text(const receipt& paper) {
  return "nothing is held by this receipt for '" + paper.name.str() +
         "': it was released before, its lease has ended, somebody has taken the lock away, or the "
         "receipt is not genuine";
}

int renew(const receipt_flags& flags) {
  // Somebody has forgotten the time; the complaint about it would quote the receipt.
  if (flags.where.lease && flags.where.lease->starts_with("crosslock1:")) {
    throw usage_error{"--lease is followed by a receipt: expected a time such as 30s"};
  }
  const receipt paper = read_receipt(flags.given, std::cin);
  place where = place_of(flags, paper);
  const client locks = connect(where.url, std::move(where.how));
  const closed_in_the_end closing{locks};
  try {
    const duration lease = locks.renew(paper);
    const paper_format format = flags.json ? paper_format::json : read_format(flags.format);
    if (format != paper_format::bare) {
      std::cout << shown(paper, paper.name.view(), lease, format) << std::flush;
    }
    return exit_code::success;
  } catch (const error& why) {
    if (why.which() != errc::lost) throw;
    complain(gone_text(paper));
    return exit_code::lost;
  }
}

/// Whether the lock is there no more, as far as can be seen.
bool has_gone(const client& locks, const receipt& paper) {
  try {
    const lock_info seen = locks.look(paper.name.view());
    return std::none_of(seen.holders.begin(), seen.holders.end(),
                        [&](const claim_info& one) { return one.owner == paper.owner; });
  } catch (const error&) {
    return false;
  }
}

int release(const receipt_flags& flags) {
  const receipt paper = read_receipt(flags.given, std::cin);
  place where = place_of(flags, paper);
  const client locks = connect(where.url, std::move(where.how));
  const closed_in_the_end closing{locks};
  switch (locks.release(paper)) {
    case release_result::released:
      return exit_code::success;
    case release_result::unknown:
      // The answer was lost on its way, perhaps behind a release that was carried out.
      if (has_gone(locks, paper)) return exit_code::success;
      complain("no answer to the release of '" + paper.name.str() +
               "': it may stay locked until its lease ends; try again");
      return exit_code::unreachable;
    default:
      complain(gone_text(paper));
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

command offer_renew(CLI::App& program) {
  CLI::App* const words = program.add_subcommand("renew", "Extend the lease of a lock by receipt");
  words->footer(renew_footer);
  const auto flags = std::make_shared<receipt_flags>();
  offer_common(*words, *flags);
  words->add_option("--lease", flags->where.lease, "The lease from now on: 30s");
  offer_format(*words, flags->format);
  words->add_flag("--json", flags->json, "The same as --format json");
  return {words, [flags] { return renew(*flags); }};
}

command offer_release(CLI::App& program) {
  CLI::App* const words = program.add_subcommand("release", "Give a lock back by receipt");
  words->footer(release_footer);
  const auto flags = std::make_shared<receipt_flags>();
  offer_common(*words, *flags);
  return {words, [flags] { return release(*flags); }};
}

}  // namespace crosslock::cli
