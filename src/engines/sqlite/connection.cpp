// Writers of one process: the first who comes leads. It takes its turn at the gate, and what the
// others want meanwhile goes into its transaction, or into that of the next leader; so one commit,
// and with it one wait for the disk, serves all who waited for it.
#include "engines/sqlite/connection.hpp"

#include "engines/sqlite/file_system.hpp"
#include "engines/sqlite/hearing.hpp"
#include "engines/sqlite/schema.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace crosslock::sqlite {
namespace {

/// More than this in one transaction would keep other processes waiting for too long.
constexpr std::size_t batch_max = 256;

error too_late(const std::string& path) {
  return make_error(errc::timed_out, "'" + path + "': other writers did not let us in in time",
                    SQLITE_BUSY);
}

}  // namespace

connection::opened::opened(const database_location& location, seam::clock& clock)
    : base{location.path, location.keeps, clock} {
  prepare(base);
  rows.emplace(base);
}

connection::connection(database_location location, seam::clock& clock)
    : location_{std::move(location)},
      clock_{clock},
      here_{read_surroundings()},
      hearing_{std::make_unique<hearing>(*this, clock)} {
  reach(step::called, verb::connect);
  open();
  reach(step::answering, verb::connect);
}

connection::~connection() {
  hearing_.reset();  // its thread may still read
  close();
}

void connection::open_files_anew(time_point give_up) {
  const member no_client{""};
  write(no_client, verb::connect, give_up, [](seam::line_server&) {});
}

void connection::open() {
  // Whoever makes the files beside the database anew gives the group its rights a moment later.
  constexpr auto moment = std::chrono::milliseconds{5};
  for (int more = 10;; --more) {
    try {
      return open_once();
    } catch (const error& why) {
      close();
      if (why.which() != errc::denied || more == 0) throw;
    }
    seam::park_word nobody_rings{0};
    clock_.park(nobody_rings, 0, clock_.now() + moment);
  }
}

void connection::open_once() {
  make_shared_file(location_.path);
  writer_ = std::make_unique<opened>(location_, clock_);
  reader_ = std::make_unique<opened>(location_, clock_);
  map_wake_file();
  arrive(writer_->base, here_, clock_.now());
  leaders_wake().words().commits.fetch_add(1);
  // SQLite removes none of them before its last user has gone.
  const identities found = look_at_files();
  const seam::lock_guard guard{mutex_};
  files_ = found;
}

void connection::close() noexcept {
  // The last handle copies the log back. The writer has had its directory synced when it wrote to
  // it first; the reader would wait for that once more.
  reader_.reset();
  writer_.reset();
}

void connection::map_wake_file() {
  auto wake = std::make_shared<wake_file>(location_.path);
  gate_.emplace(wake->words().gate, clock_);
  const seam::lock_guard guard{mutex_};
  wake_ = std::move(wake);
}

connection::identities connection::look_at_files() const {
  identities found{};
  std::size_t i = 0;
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    struct stat about {};
    if (::stat((location_.path + suffix).c_str(), &about) == 0) {
      found[i] = {about.st_dev, about.st_ino};
    }
    ++i;
  }
  return found;
}

bool connection::same_database() const {
  const identities found = look_at_files();
  const seam::lock_guard guard{mutex_};
  return found == files_;
}

bool connection::files_in_place() {
  if (same_database() && wake()->in_place()) return true;
  replaced_.store(true);
  return false;
}

void connection::check_files() {
  const time_point now = clock_.now();
  if (now < check_files_at_) return;
  check_files_at_ = now + std::chrono::seconds{1};
  static_cast<void>(files_in_place());
}

void connection::reopen_if_replaced() {
  if (!replaced_.load()) return;
  const std::shared_ptr<wake_file> old = wake();
  const client_number whose = first_number_.load();
  replaced_.store(false);
  try {
    if (writer_ && same_database()) {
      map_wake_file();
    } else {
      const seam::lock_guard reading{reading_};
      open_anew();
    }
  } catch (...) {
    replaced_.store(true);
    throw;
  }
  ring_out(*old, whose);
}

void connection::open_anew() {
  close();
  try {
    open();
    enter_all_again();
  } catch (...) {
    // Half of it is nothing: nobody writes or reads there before all of us are on its list.
    close();
    throw;
  }
}

std::shared_ptr<wake_file> connection::wake() const {
  const seam::lock_guard guard{mutex_};
  return wake_;
}

std::size_t connection::waiting() const {
  const seam::lock_guard guard{mutex_};
  return pending_.size();
}

void connection::write(job& wanted) {
  reach(step::called, wanted.what_);
  bool leads = false;
  {
    const seam::lock_guard guard{mutex_};
    leads = seat_.take();
    if (!leads) pending_.push_back(&wanted);
  }
  if (leads || wait_until_led(wanted)) lead(wanted);
  if (wanted.failure_) std::rethrow_exception(wanted.failure_);
  reach(step::answering, wanted.what_);
}

bool connection::write_at_once(job& wanted) {
  if (location_.keeps == durability::full) return false;
  reach(step::called, wanted.what_);
  {
    const seam::lock_guard guard{mutex_};
    if (!seat_.take()) return false;
  }
  bool done = false;
  try {
    check_files();
    done = !replaced_.load() && gate_->enter_if_open() && carry_out_at_once(wanted);
  } catch (...) {
    finish({});
    throw;
  }
  finish({});
  if (done) reach(step::answering, wanted.what_);
  return done;
}

/// Inside of the gate, which it leaves.
bool connection::carry_out_at_once(job& mine) {
  bool done = false;
  try {
    reach(step::gate, mine.what_);
    writer_->base.give_up_at(clock_.now());
    const database::hurry no_checkpoint{writer_->base};
    done = try_alone(mine);
    if (done) reach(step::committed, mine.what_);
  } catch (const fault& why) {
    gate_->leave();
    if (why.which() == errc::timed_out) return false;  // somebody writes who is none of ours
    throw;
  } catch (...) {
    gate_->leave();
    throw;
  }
  gate_->leave();
  if (!done) return false;
  leaders_wake().words().commits.fetch_add(1);
  reach(step::told, mine.what_);
  return true;
}

/// Waits until somebody has done it; true when it is ours to lead.
bool connection::wait_until_led(job& wanted) {
  using state = seam::passenger::state;
  state now = wanted.caller_.ride(clock_, wanted.give_up_);
  if (now == state::waits) {
    {
      const seam::lock_guard guard{mutex_};
      now = wanted.caller_.now();
      if (now == state::waits && !wanted.taken_) {
        std::erase(pending_, &wanted);
        wanted.failure_ = std::make_exception_ptr(too_late(location_.path));
        return false;
      }
    }
    if (now == state::waits) now = wanted.caller_.ride(clock_, time_point::max());
  }
  return now == state::drives;
}

void connection::lead(job& mine) {
  std::vector<job*> batch;
  std::vector<notice> notices;
  try {
    check_files();
    reopen_if_replaced();
    writer_->base.give_up_at(mine.give_up_);
    if (carry_out(mine, batch, notices)) leaders_wake().words().commits.fetch_add(1);
    tell_others(notices);
    reach(step::told, mine.what_);
  } catch (...) {
    mine.failure_ = std::current_exception();
    for (job* const each : batch) each->failure_ = mine.failure_;
  }
  finish(batch);
  tell_members(notices);
}

/// True: something was committed.
bool connection::carry_out(job& mine, std::vector<job*>& batch, std::vector<notice>& notices) {
  const auto admitted = gate_->enter(mine.give_up_, [this] {
    try {
      writer_->base.give_up_at(clock_.now());
      writer_->rows->begin_writing();
      return true;
    } catch (const fault& why) {
      if (why.which() != errc::timed_out) throw;
      return false;
    }
  });
  if (admitted == gate::admission::too_late) throw too_late(location_.path);
  try {
    reach(step::gate, mine.what_);
    writer_->base.give_up_at(mine.give_up_);
    const bool begun = admitted == gate::admission::begun;
    if (begun || !try_alone(mine)) run_batch(mine, batch, notices, begun);
    reach(step::committed, mine.what_);
  } catch (...) {
    writer_->rows->roll_back();
    gate_->leave();
    throw;
  }
  gate_->leave();
  return true;
}

bool connection::try_alone(job& mine) {
  {
    const seam::lock_guard guard{mutex_};
    if (!pending_.empty()) return false;
  }
  if (until_sweep_ == 0) return false;
  --until_sweep_;
  return mine.run_alone(*writer_->rows, mine.from_.number(), since_boot(clock_.now()));
}

void connection::run_batch(job& mine, std::vector<job*>& batch, std::vector<notice>& notices,
                           bool begun) {
  if (!begun) writer_->rows->begin_writing();
  reach(step::begun, mine.what_);
  take_pending(batch);
  until_sweep_ -= std::min<std::uint64_t>(until_sweep_, 1 + batch.size());
  table_rows rows{*writer_->rows, here_.self, clock_.now()};
  seam::line_server line{rows};
  const auto run = [&](job& each) {
    try {
      line.act_for(each.from_.number());
      each.run(line);
    } catch (const fault&) {
      throw;
    } catch (const error&) {
      each.failure_ = std::current_exception();  // a refusal: the rows are as they should be
    }
  };
  run(mine);
  for (job* const each : batch) run(*each);
  sweep_if_due(clock_.now());
  reach(step::written, mine.what_);
  writer_->rows->commit();
  for (const seam::news& each : line.take_news()) {
    const bool cell = each.what == seam::news::kind::cell_changed;
    const client_number whom = cell ? watchers : each.to;
    if (whom != nobody) notices.push_back({whom, wake_file::hash_of(each.name->view())});
  }
}

void connection::take_pending(std::vector<job*>& batch) {
  batch.reserve(batch_max);
  const seam::lock_guard guard{mutex_};
  while (!pending_.empty() && batch.size() < batch_max) {
    batch.push_back(pending_.front());
    pending_.pop_front();
    batch.back()->taken_ = true;
  }
}

/// Wakes those who were served, and makes the first of those who were not the next leader. A job
/// may be gone as soon as it is seen to be done: only the address of its word is used after that.
/// It allocates nothing: after a failure for want of memory, too, the others must get their turn.
void connection::finish(const std::vector<job*>& batch) noexcept {
  std::array<seam::park_word*, batch_max + 1> words{};
  std::size_t count = 0;
  {
    const seam::lock_guard guard{mutex_};
    for (job* const each : batch) {
      words[count++] = &each->caller_.word();
      each->caller_.serve();
    }
    if (pending_.empty()) {
      seat_.leave();
    } else {
      words[count++] = &seam::seat::pass_to(pending_.front()->caller_);
      pending_.pop_front();
    }
  }
  for (std::size_t i = 0; i < count; ++i) clock_.unpark(*words[i]);
}

void connection::sweep_if_due(time_point now) {
  if (until_sweep_ > 0) return;
  sweep(writer_->base, now);
  const auto left = writer_->base.ask_number("SELECT count(*) FROM locks");
  until_sweep_ = std::max<std::uint64_t>(4096, 2 * static_cast<std::uint64_t>(left));
}

void connection::read(time_point give_up,
                      const std::function<void(ledger&, const process_id&)>& body) {
  const seam::lock_guard guard{reading_};
  if (!reader_) {
    throw make_error(errc::unreachable,
                     "'" + location_.path + "' was removed and cannot be made again");
  }
  reader_->base.give_up_at(give_up);
  ledger& rows = *reader_->rows;
  rows.begin_reading();
  try {
    body(rows, here_.self);
    rows.commit();
  } catch (...) {
    rows.roll_back();
    throw;
  }
}

}  // namespace crosslock::sqlite
