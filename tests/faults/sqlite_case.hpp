// Cases of the sqlite engine.
#pragma once

#include "conformance/fixtures/sqlite_testbed.hpp"
#include "faults/fault_case.hpp"

namespace crosslock::faults {

class sqlite_case : public fault_case_in<conformance::sqlite_testbed> {
 protected:
  /// From a holder's death until the next is in: the engine's promise.
  static constexpr duration seen_dead = 300ms;
  /// From the end of a lease until the next is in.
  static constexpr duration after_lease = 250ms + stall;

  /// SQLite finds nothing wrong with the file.
  void expect_sound() {
    EXPECT_EQ(testbed().run_sql("SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check <> 'ok'"),
              0);
  }
};

/// The rows of the matrix, for this engine.
class sqlite_faults : public sqlite_case {};

}  // namespace crosslock::faults
