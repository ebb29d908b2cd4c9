// The local line: threads of one process queue here first, and only a claimant asks the server.
#pragma once

#include "local/claiming.hpp"
#include "local/client_context.hpp"
#include "local/holding.hpp"
#include "local/line_mutex.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// One per client and name (one per acquire with strict_fifo, and for adopted receipts), for claims
/// of every mode: who waits is in `claiming`, who holds in `holding`, and one mutex guards both.
/// Thread-safe. No verb of the engine and no user code is ever called with the mutex held.
class line final : public lease_record_listener, public std::enable_shared_from_this<line> {
 public:
  line(client_context& home, seam::name_ref name, seam::name_ref given_name, bool common);
  ~line() override;
  line(const line&) = delete;
  line& operator=(const line&) = delete;

  claiming& claims() noexcept { return claims_; }

  /// Null when busy, out of time or stopped.
  std::shared_ptr<critical_section> acquire(const acquire_request& request) {
    return claims_.acquire(request);
  }
  void acquire_async(const acquire_request& request, acquire_callback done) {
    claims_.acquire_async(request, std::move(done));
  }
  /// Takes a detached hold up; null when it is no longer there. Only on a line of its own, apart
  /// from threads that wait for the same name.
  std::shared_ptr<critical_section> adopt(const seam::grant& detached,
                                          const acquire_request& request) {
    return claims_.adopt(detached, request);
  }
  /// The exclusive section that may take the place of this shared one, which is still held then;
  /// null when out of time or stopped.
  std::shared_ptr<critical_section> upgrade(const critical_section& shared,
                                            const acquire_request& request) {
    return claims_.upgrade(shared, request);
  }
  /// The same as an event. Whoever calls keeps the shared one until then, by the callback.
  void upgrade_async(const critical_section& shared, const acquire_request& request,
                     acquire_callback done) {
    claims_.upgrade_async(shared, request, std::move(done));
  }
  release_result release(critical_section& entered) noexcept { return holds_.release(entered); }
  /// The same without waiting for the server. Empty: it is on its way, and told later.
  std::optional<release_result> leave(critical_section& entered, farewell told) noexcept {
    return holds_.leave(entered, std::move(told));
  }
  /// An upgrade has taken its place: it is given back in the background, and at the end of the
  /// successor at the latest. False when it was lost before.
  bool retire(critical_section& entered, local_grant* successor = nullptr) noexcept {
    return holds_.retire(entered, successor);
  }
  /// Requested as soon as somebody waits for what is held.
  std::stop_token wanted(critical_section& entered, std::stop_source told) {
    return holds_.wanted(entered, std::move(told));
  }
  /// Who listens for it goes on listening.
  void hand_on_wanted(const critical_section& elder, critical_section& next) {
    holds_.hand_on_wanted(elder, next);
  }
  receipt detach(critical_section& entered) { return holds_.detach(entered); }
  void downgrade(critical_section& entered) { holds_.downgrade(entered); }

  // What the engine reports, by owner id; false when this line does not know the claim.
  bool answered(const owner_id& owner, const seam::answer& answer);
  bool granted(const seam::grant& grant);
  bool look_again(const owner_id& owner);
  bool wanted(const owner_id& owner);
  bool failed(const owner_id& owner, const error& why);

  // lease_record_listener
  void lost(lease_record& record, loss_reason reason) noexcept override {
    holds_.lost(record, reason);
  }
  void renewed(lease_record& record, const seam::renewal& renewal) noexcept override {
    holds_.renewed(record, renewal);
  }

  /// Fails every waiter with `closed` and ends what is held, which is added to what has to be given
  /// back.
  void close(std::vector<seam::parting_ref>& given_back) noexcept;

  client_context& home() const noexcept { return home_; }
  const seam::name_ref& name() const noexcept { return name_; }
  /// Without the client's prefix: as the program knows it.
  const seam::name_ref& given_name() const noexcept { return given_name_; }
  /// Whether acquires of other threads may queue here.
  bool common() const noexcept { return common_; }

  // For its two halves.
  seam::mutex& mutex() noexcept CROSSLOCK_RETURN_CAPABILITY(line_mutex) { return mutex_; }
  bool closed() const noexcept CROSSLOCK_REQUIRES(line_mutex) { return closed_; }
  error shared_hold_lost(const critical_section& shared) const;
  static error client_closed() { return {errc::closed, "the client was closed"}; }

 private:
  client_context& home_;
  const seam::name_ref name_;
  const seam::name_ref given_name_;
  const bool common_;

  seam::mutex mutex_;
  bool closed_ CROSSLOCK_GUARDED_BY(line_mutex) = false;
  claiming claims_;
  holding holds_;
};

}  // namespace crosslock::inner
