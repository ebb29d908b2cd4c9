// Locks for people: the tables of list and top, and the page of show.
#pragma once

#include "cli/looking/table.hpp"

#include <crosslock/inspect.hpp>

#include <string>
#include <vector>

namespace crosslock::cli {

/// A line for each holder, and for each waiter in order.
std::vector<std::string> list_lines(const std::vector<lock_info>& locks, const canvas& on);

/// Everything of one lock.
std::vector<std::string> show_lines(const lock_info& lock, const canvas& on);

/// A line for each lock, and above them what there is all in all.
std::vector<std::string> top_lines(std::vector<lock_info> locks, const canvas& on);

/// What is most waited for comes first; then whose first waiter has waited longest; then what is
/// held longest.
void sort_by_need(std::vector<lock_info>& locks);

/// Name, kind and all in one text: `x`, `x [election]`.
std::string title_of(const lock_info& lock);

/// `exclusive`, `shared`, `2 of 5`.
std::string mode_text(const claim_info& claim);

/// `ann@web1 pid 4711 psql, exclusive, for 3m12s, owner id 9f0c...`, printable.
std::string holder_text(const claim_info& holder);

}  // namespace crosslock::cli
