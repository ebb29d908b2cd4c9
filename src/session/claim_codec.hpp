// How an engine writes claims into its tree, and reads those of others.
#pragma once

#include "engine/claim.hpp"
#include "session/claims.hpp"
#include "session/tree.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::session {

struct claim_environment;  // claim_environment.hpp

/// One claim in a line as the server lists it. A line of hundreds is read by everybody who joins
/// it: so this is a view of the listing, which must outlive it.
struct member {
  std::string_view name{};
  seam::demand demand{};
  /// Exclusive, but it may become a shared one in the same place, whoever has written it.
  bool may_share = false;
};

/// Thread-safe, without state of its own.
class claim_codec {
 public:
  virtual ~claim_codec() = default;

  /// Where the lines of a name are, and which of them this claim stands in.
  virtual void locate(standing& mine) const = 0;
  /// Makes its place in line.
  virtual request place_for(const standing& mine) const = 0;
  /// Makes what that hangs from, the highest first; never empty.
  virtual std::vector<request> parents_of(const standing& mine) const = 0;
  /// Notes the place that was made by that answer, or found; throws when there are no fences left.
  virtual void note_place(standing& mine, const std::string& path,
                          const node_facts& facts) const = 0;
  /// Removes a place. If others need not look around behind it, it says so in the same step.
  virtual request removal_of(const standing& mine) const = 0;
  /// Everywhere that a place of the claim may be.
  virtual std::vector<std::string> folders_of(const standing& mine) const = 0;

  /// The claims among what was listed, first come first.
  virtual std::vector<member> read_line(const name_list& listed) const = 0;
  virtual std::optional<owner_id> owner_of(std::string_view child) const = 0;
  /// A client of ours has written it: it says when it ends a hold, and nobody else writes to it.
  virtual bool is_ours(std::string_view data) const = 0;
  /// It belongs to the present session.
  virtual bool is_present(const node_facts& facts) const = 0;

  virtual error make_error(errc code, const std::string& text,
                           bool outcome_unknown = false) const = 0;
  /// What a failed response means for whoever asked; `what` completes "cannot ...".
  virtual error error_in(const response& said, const std::string& what) const = 0;
  /// Nothing can be made below that path, for it ends with somebody's session.
  virtual error error_below(const std::string& path) const = 0;

  /// For engines that find what an unanswered request has left in a way of their own: true when
  /// this has begun to remove it.
  virtual bool remove_unknown(claim_environment& /*at*/, const standing_ref& /*mine*/,
                              const hearer& /*then*/) const {
    return false;
  }
};

}  // namespace crosslock::session
