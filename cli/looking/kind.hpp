// Names of locks that belong to something larger: to an election, a barrier.
#pragma once

#include <string>
#include <string_view>

namespace crosslock::cli {

struct kind_and_name {
  std::string_view kind;  ///< "lock"; of `crosslock:{election}:x` "election"
  std::string_view name;  ///< "x"

  /// Made by crosslock itself: no program can give such a name.
  bool is_internal() const noexcept { return kind != "lock"; }
};

/// Refers into the text.
kind_and_name kind_of(std::string_view stored) noexcept;

/// The other way round.
std::string stored_name(const kind_and_name& parts);

}  // namespace crosslock::cli
