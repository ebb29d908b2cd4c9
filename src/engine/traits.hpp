// What engines offer, and the leases that each of them can give.
#pragma once

#include "engine/cell.hpp"
#include "engine/claim.hpp"

#include <cstddef>
#include <string_view>

namespace crosslock::seam {

/// What an engine offers, said before it is asked. A promise that is not made here is answered
/// by `unsupported` when it is asked for.
struct traits {
  std::string_view name;
  bool shared = false;            ///< shared claims
  bool permits = false;           ///< permit claims
  bool first_come = false;        ///< the server keeps a line and grants in its order
  bool pushes = false;            ///< waiters are woken by the server
  bool tells_wanted = false;      ///< holders learn that others wait
  bool tells_when_asked = false;  ///< the same for exclusive ones, from listen_for_wanted on
  bool reserves_fences = false;   ///< a renewal can bring another block of fences
  bool lease_is_session = false;  ///< one lease for everything this client holds: grant::session
  bool outlives_process = false;  ///< a hold can be detached and taken up by another process
  bool within_process = false;    ///< the locks are in the memory of one process, and go with it
  bool watches_process = false;   ///< a hold ends when its process is seen dead, unless detached
  bool posts_releases = false;    ///< giving back need not wait for the server: post_release
  bool cells = false;             ///< values that are compared and set
  bool watches_cells = false;     ///< who watches a cell is told when it is written
  bool works_after_fork = true;   ///< a child may connect anew although its parent was connected
  std::size_t cell_bytes = cell_bytes_max;  ///< the longest value of a cell
  duration session{};                       ///< lease_is_session: how long that is, once connected
  duration lease_min{};
  duration lease_max{};
};

/// Throws `invalid_lease` for one that the engine cannot give, before any I/O.
void refuse_lease(const traits& engine, duration lease);
/// The same for a renewal, which may also leave the lease as it is: zero.
void refuse_lease(const traits& engine, const renewal& item);

}  // namespace crosslock::seam
