// One vector behind one mutex; the file gets each line by a single write on an O_APPEND descriptor.
#include "checker/recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace crosslock::checker {
namespace {

std::int64_t ns(time_point t) { return t.time_since_epoch().count(); }

void put_terms(event& e, const terms& given) {
  e.deadline = ns(given.deadline);
  e.sent = ns(given.sent);
  e.lease = given.lease.count();
}

}  // namespace

event claim_record::stamped(time_point t, phase ph, action f, std::string_view why) const {
  event e = about_;
  e.t = ns(t);
  e.ph = ph;
  e.f = f;
  e.err = why;
  return e;
}

void claim_record::put(time_point t, phase ph, action f, std::string_view why) const {
  book_->record(stamped(t, ph, f, why));
}

void claim_record::asks_again(time_point t) const { put(t, phase::inv, action::acq); }
void claim_record::queued(time_point t) const { put(t, phase::queued, action::acq); }

void claim_record::granted(time_point t, const terms& given) {
  about_.token = given.token.value();
  event e = stamped(t, phase::ok, action::acq);
  put_terms(e, given);
  book_->record(std::move(e));
}

void claim_record::refused(time_point t, std::string_view why) const {
  put(t, phase::fail, action::acq, why);
}
void claim_record::unknown(time_point t, std::string_view why, crosslock::fence token) const {
  event e = stamped(t, phase::info, action::acq, why);
  e.token = token.value();
  book_->record(std::move(e));
}
void claim_record::withdraws(time_point t) const { put(t, phase::inv, action::withdraw); }
void claim_record::withdrawn(time_point t) const { put(t, phase::ok, action::withdraw); }

void claim_record::reenters(time_point t) const { put(t, phase::inv, action::reenter); }

void claim_record::reentered(time_point t, crosslock::fence token) const {
  event e = stamped(t, phase::ok, action::reenter);
  e.token = token.value();
  book_->record(std::move(e));
}

void claim_record::renews(time_point t) const { put(t, phase::inv, action::renew); }

void claim_record::renewed(time_point t, const terms& given) const {
  event e = stamped(t, phase::ok, action::renew);
  put_terms(e, given);
  book_->record(std::move(e));
}

void claim_record::renew_refused(time_point t, std::string_view why) const {
  put(t, phase::fail, action::renew, why);
}
void claim_record::renew_unknown(time_point t, std::string_view why) const {
  put(t, phase::info, action::renew, why);
}

void claim_record::downgrades(time_point t) const { put(t, phase::inv, action::downgrade); }
void claim_record::downgraded(time_point t) const { put(t, phase::ok, action::downgrade); }

void claim_record::lost(time_point t, std::string_view why) const {
  put(t, phase::lost, action::none, why);
}

void claim_record::releases(time_point t) const { put(t, phase::inv, action::rel); }
void claim_record::released(time_point t) const { put(t, phase::ok, action::rel); }
void claim_record::passed(time_point t) const { put(t, phase::ok, action::rel, passed_on); }
void claim_record::release_refused(time_point t, std::string_view why) const {
  put(t, phase::fail, action::rel, why);
}
void claim_record::release_unknown(time_point t, std::string_view why) const {
  put(t, phase::info, action::rel, why);
}

void claim_record::enters(time_point t) const { put(t, phase::cs_in, action::none); }
void claim_record::leaves(time_point t) const { put(t, phase::cs_out, action::none); }

void claim_record::writes(time_point t) const { put(t, phase::inv, action::write); }

void claim_record::wrote(time_point t, std::int64_t value) const {
  event e = stamped(t, phase::fence_ok, action::write);
  e.value = value;
  book_->record(std::move(e));
}

void claim_record::write_refused(time_point t) const { put(t, phase::fence_rej, action::write); }
void claim_record::write_unknown(time_point t) const { put(t, phase::info, action::write); }

void claim_record::wrote_unfenced(time_point t, std::int64_t value) const {
  event e = stamped(t, phase::ok, action::write);
  e.value = value;
  book_->record(std::move(e));
}

recorder::recorder(const std::filesystem::path& file)
    : file_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (file_ < 0) {
    throw std::system_error(errno, std::generic_category(), file.string());
  }
}

recorder::~recorder() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

claim_record recorder::asks(time_point t, const asker& who) {
  claim_record claim = pretends(who, {});
  claim.asks_again(t);
  return claim;
}

claim_record recorder::pretends(const asker& who, crosslock::fence token) {
  event about;
  about.proc = who.proc;
  about.thr = who.thr;
  about.lock = who.lock;
  about.mode = who.mode;
  about.permits = who.permits;
  about.of = who.of;
  about.req = who.req;
  if (about.req.empty()) {
    about.req = std::to_string(who.proc) + "-" + std::to_string(next_req_++);
  }
  about.token = token.value();
  return {*this, std::move(about)};
}

void recorder::nemesis(time_point t, fault kind, std::int32_t proc, std::string_view lock,
                       std::string_view what) {
  event e;
  e.t = ns(t);
  e.proc = proc;
  e.ph = phase::nemesis;
  e.kind = kind;
  e.lock = lock;
  e.err = what;
  record(std::move(e));
}

void recorder::stalled(time_point from, time_point to, std::int32_t proc) {
  event e;
  e.t = ns(to);
  e.sent = ns(from);
  e.proc = proc;
  e.ph = phase::nemesis;
  e.kind = fault::stall;
  record(std::move(e));
}

void recorder::shown(time_point sent, time_point t, std::string_view lock,
                     crosslock::fence holder) {
  event e;
  e.t = ns(t);
  e.sent = ns(sent);
  e.ph = phase::shown;
  e.lock = lock;
  e.token = holder.value();
  record(std::move(e));
}

void recorder::final_value(time_point t, std::string_view lock, std::int64_t value) {
  event e;
  e.t = ns(t);
  e.ph = phase::ok;
  e.f = action::final;
  e.lock = lock;
  e.value = value;
  record(std::move(e));
}

void recorder::record(event e) {
  const std::string line = file_ >= 0 ? to_json(e) + '\n' : std::string{};
  const std::lock_guard guard{mutex_};
  if (file_ >= 0 && ::write(file_, line.data(), line.size()) != std::ssize(line)) {
    throw std::system_error(errno, std::generic_category(), "cannot write the history");
  }
  events_.push_back(std::move(e));
}

history recorder::events() const {
  std::vector<history> one(1);
  {
    const std::lock_guard guard{mutex_};
    one.front() = events_;
  }
  return merge(std::move(one));
}

}  // namespace crosslock::checker
