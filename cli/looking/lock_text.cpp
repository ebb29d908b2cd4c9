#include "cli/looking/lock_text.hpp"

#include "cli/looking/kind.hpp"
#include "cli/looking/plain_text.hpp"
#include "cli/say.hpp"
#include "cli/times.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace crosslock::cli {
namespace {

using namespace std::chrono_literals;

std::string age_text(const claim_info& claim) { return claim.foreign ? "?" : show_time(claim.age); }

std::string lease_text(const claim_info& holder) {
  return holder.lease_left == duration::max() ? "no end" : show_time(holder.lease_left);
}

std::string fence_text(const claim_info& holder) {
  return holder.fence == fence{} ? "-" : holder.fence.to_string();
}

std::string owner_text(const claim_info& claim) {
  return claim.owner.nobody() ? "-" : claim.owner.to_string();
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

/// The mode within a sentence.
std::string mode_phrase(const claim_info& claim) {
  return mode_text(claim) + (claim.mode == claim_mode::permit ? " permits" : "");
}

duration longest_wait(const lock_info& lock) {
  duration longest{};
  for (const claim_info& each : lock.line) longest = std::max(longest, each.age);
  return longest;
}

/// Of a semaphore how much of it is taken; else nothing.
std::string permits_text(const lock_info& lock) {
  std::int64_t taken = 0;
  std::int64_t of = 0;
  for (const claim_info& each : lock.holders) {
    if (each.mode == claim_mode::permit) taken += each.permits;
    if (each.mode == claim_mode::permit) of = each.of;
  }
  if (of == 0) return {};
  return std::to_string(taken) + " of " + std::to_string(of) + " permits taken";
}

/// One word for all who hold it.
std::string joint_mode(const lock_info& lock) {
  if (lock.holders.empty()) return "-";
  const claim_info& first = lock.holders.front();
  if (first.mode != claim_mode::permit) return mode_text(first);
  std::int64_t taken = 0;
  for (const claim_info& each : lock.holders) taken += each.permits;
  return std::to_string(taken) + " of " + std::to_string(first.of);
}

void add_top_row(table& rows, const lock_info& lock) {
  const bool free = lock.holders.empty();
  std::string who = free ? "nobody" : lock.holders.front().who;
  if (lock.holders.size() > 1) {
    who.insert(0, '(' + std::to_string(lock.holders.size()) + ") ");
  }
  const bool waited_for = !lock.line.empty();
  // What matters less stands to the right, where a narrow terminal cuts.
  rows.add({title_of(lock), std::to_string(lock.line.size()),
            waited_for ? show_time(longest_wait(lock)) : "-",
            free ? "-" : age_text(lock.holders.front()), who,
            free ? "-" : lease_text(lock.holders.front()), joint_mode(lock)},
           waited_for ? colour::yellow : colour::plain);
}

}  // namespace

std::string title_of(const lock_info& lock) {
  const kind_and_name parts = kind_of(lock.name);
  const std::string name{parts.name};
  return parts.is_internal() ? name + " [" + std::string{parts.kind} + ']' : name;
}

std::string mode_text(const claim_info& claim) {
  if (claim.mode != claim_mode::permit) return std::string{mode_word(claim.mode)};
  return std::to_string(claim.permits) + " of " + std::to_string(claim.of);
}

std::string holder_text(const claim_info& holder) {
  std::string text = printable(holder.who) + ", " + mode_phrase(holder);
  if (!holder.foreign) text += ", for " + show_time(holder.age);
  return text + ", owner id " + owner_text(holder);
}

std::vector<std::string> list_lines(const std::vector<lock_info>& locks, const canvas& on) {
  if (locks.empty()) return {"no locks"};
  table rows{{"NAME", "STATE", "MODE", "FOR", "LEASE", "WHO", "FENCE", "OWNER ID"}};
  for (const lock_info& lock : locks) {
    const std::string title = title_of(lock);
    for (const claim_info& each : lock.holders) {
      rows.add({title, "held", mode_text(each), age_text(each), lease_text(each), each.who,
                fence_text(each), owner_text(each)});
    }
    std::size_t position = 0;
    for (const claim_info& each : lock.line) {
      rows.add({title, "waits " + std::to_string(++position), mode_text(each), show_time(each.age),
                "-", each.who, "-", owner_text(each)},
               colour::yellow);
    }
  }
  return rows.lines(on);
}

std::vector<std::string> show_lines(const lock_info& lock, const canvas& on) {
  std::vector<std::string> lines;
  const auto say = [&](const std::string& text, colour paint = colour::plain) {
    lines.push_back(fitted(text, on, paint));
  };
  if (lock.holders.empty() && lock.line.empty()) {
    say("nobody holds '" + lock.name + "' or waits for it");
    return lines;
  }
  say(lock.name, colour::bold);
  if (const std::string permits = permits_text(lock); !permits.empty()) say("  " + permits);
  for (const claim_info& each : lock.holders) {
    say("  held by " + each.who);
    say("    " + mode_phrase(each) + (each.foreign ? "" : ", for " + age_text(each)) +
        ", lease left: " + lease_text(each));
    say("    fence " + fence_text(each) + ", owner id " + owner_text(each));
  }
  if (lock.holders.empty()) say("  held by nobody just now");
  std::size_t position = 0;
  for (const claim_info& each : lock.line) {
    say("  waiting " + std::to_string(++position) + ": " + each.who, colour::yellow);
    say("    " + mode_phrase(each) + ", for " + show_time(each.age) + ", owner id " +
        owner_text(each));
  }
  return lines;
}

void sort_by_need(std::vector<lock_info>& locks) {
  const auto rank = [](const lock_info& each) {
    const duration held = each.holders.empty() ? duration{} : each.holders.front().age;
    return std::tuple{each.line.size(), longest_wait(each), held};
  };
  std::stable_sort(locks.begin(), locks.end(), [&](const lock_info& one, const lock_info& other) {
    return rank(one) > rank(other);
  });
}

std::vector<std::string> top_lines(std::vector<lock_info> locks, const canvas& on) {
  std::size_t held = 0;
  std::size_t waiting = 0;
  std::size_t wanted = 0;
  for (const lock_info& each : locks) {
    held += each.holders.empty() ? 0 : 1;
    waiting += each.line.size();
    wanted += each.line.empty() ? 0 : 1;
  }
  sort_by_need(locks);
  std::string sum = counted(held, "lock", "locks") + " held";
  if (waiting > 0) {
    sum += ", " + std::to_string(waiting) + " waiting for " + std::to_string(wanted);
  }
  std::vector<std::string> lines{fitted(sum, on)};
  table rows{{"NAME", "WAIT", "LONGEST", "HELD", "HELD BY", "LEASE", "MODE"}};
  for (const lock_info& each : locks) add_top_row(rows, each);
  for (std::string& each : rows.lines(on)) lines.push_back(std::move(each));
  return lines;
}

}  // namespace crosslock::cli
