// What an engine tells its client, unasked or later.
#pragma once

#include "engine/claim.hpp"

#include <crosslock/error.hpp>

namespace crosslock::seam {

/// Which claim an event is about. Valid during the call only.
struct claim_key {
  const lock_name& name;
  const owner_id& owner;
};

/// Where an engine reports what happens later: one for the whole client, so that no engine keeps a
/// table of claims and their callbacks. Called from any thread, with no engine mutex held. The
/// core answers quickly and does no I/O in these calls. Events may come late, twice, or for
/// claims nobody knows any more: the core sorts that out.
class engine_events {
 public:
  virtual ~engine_events() = default;
  /// The answer to ask_async, with the claim as it was asked: whoever has given up meanwhile
  /// withdraws exactly that.
  virtual void answered(const claim& claim, const answer& answer) noexcept = 0;
  /// A claim in line has become a grant.
  virtual void granted(const grant& grant) noexcept = 0;
  /// Something changed: ask again.
  virtual void look_again(claim_key key) noexcept = 0;
  /// Others wait behind this grant.
  virtual void wanted(claim_key key) noexcept = 0;
  /// ask_async failed; or a grant has ended: errc::lost, somebody took it away.
  virtual void failed(claim_key key, const error& why) noexcept = 0;
  /// The connection is lost, and what is held is valid only until its deadline, unless it comes
  /// back in time. For engines whose sessions outlive a connection.
  virtual void suspended(const error& /*why*/) noexcept {}
  /// A session has ended, or its deadline is earlier than it was: what is held within it is looked
  /// at now.
  virtual void session_cut() noexcept {}
  /// Connected again.
  virtual void resumed() noexcept {}
  /// A cell that was watched of late has been written, or may have been. A hint.
  virtual void cell_changed(const lock_name& /*name*/) noexcept {}
};

}  // namespace crosslock::seam
