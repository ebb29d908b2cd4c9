// Looking at locks without taking any.
#pragma once

#include "cli/target.hpp"

#include <crosslock/client.hpp>
#include <crosslock/lock_name.hpp>

#include <optional>
#include <string>
#include <vector>

namespace crosslock::cli {

/// Connects when it is asked for the first time. A database that is not there yet is not made for
/// the sake of looking at it: there nobody holds anything. One thread at a time.
class lock_viewer {
 public:
  /// `internal`: the locks of elections and barriers as well.
  explicit lock_viewer(const target_flags& where, bool internal = false);
  ~lock_viewer();
  lock_viewer(const lock_viewer&) = delete;
  lock_viewer& operator=(const lock_viewer&) = delete;

  /// Everything in use whose name begins so, in the order of names. Names are without the prefix
  /// of this target; those of internal locks, too.
  std::vector<lock_info> list(std::string_view beginning);
  lock_info look(const lock_name& name);
  /// False when the owner does not hold it.
  bool break_lock(const lock_name& name, const owner_id& owner);

  /// The URL as it may be shown.
  std::string where() const { return target_.shown(); }

 private:
  /// Null as long as there is nothing to connect to.
  const client* locks();
  bool nothing_there() const;

  target target_;
  const bool internal_;
  std::string prefix_;  ///< when we have to put it before names ourselves
  std::optional<client> locks_;
};

/// Of all locks of a target those whose names, without the kind, begin with `prefix` and then
/// `beginning`; the prefix is taken off. In the order of names.
std::vector<lock_info> within_prefix(std::vector<lock_info> all, std::string_view prefix,
                                     std::string_view beginning);

/// For loops that look again and again: sleeps. When nobody reads our output any more, the process
/// ends as SIGPIPE would end it, although there is nothing to write.
void sleep_between_looks(duration interval);

}  // namespace crosslock::cli
