// Writers of one process: the first who comes leads. It takes its turn at the gate, and what the
// others want meanwhile goes into its transaction, or into that of the next leader; so one commit,
// and with it one wait for the disk, serves all who waited for it.
#include "engines/sqlite/connection.hpp"

#include "engine/fork_guard.hpp"

#include "engines/sqlite/schema.hpp"

#include <sys/stat.h>

#include <algorithm>
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

struct open_one {
  place where;
  const seam::clock* clock;
  std::weak_ptr<connection> there;
};

constinit seam::fork_safe_mutex guarding_open_ones;
// Never destroyed: clients of static objects may outlive every other static.
constinit std::vector<open_one>* open_ones = nullptr;

std::shared_ptr<connection> find_open_one(const place& place, const seam::clock& clock) {
  if (open_ones == nullptr) open_ones = new std::vector<open_one>;
  std::erase_if(*open_ones, [](const open_one& each) { return each.there.expired(); });
  for (const open_one& each : *open_ones) {
    if (each.where == place && each.clock == &clock) return each.there.lock();
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<connection> connection::to(const place& place, seam::clock& clock) {
  refuse_after_fork();
  {
    const std::lock_guard guard{guarding_open_ones};
    if (auto found = find_open_one(place, clock)) return found;
  }
  auto fresh = std::make_shared<connection>(place, clock);
  const std::lock_guard guard{guarding_open_ones};
  if (auto found = find_open_one(place, clock)) return found;  // somebody else was faster
  open_ones->push_back({place, &clock, fresh});
  return fresh;
}

struct connection::opened {
  opened(const place& place, seam::clock& clock) : base{place.path, place.keeps, clock} {
    prepare(base);
    rows.emplace(base);
  }

  database base;
  std::optional<ledger> rows;
};

connection::connection(place place, seam::clock& clock)
    : place_{std::move(place)}, clock_{clock}, here_{read_surroundings()} {
  reach(step::called, verb::connect);
  open();
  reach(step::answering, verb::connect);
}

connection::~connection() = default;

void connection::open() {
  writer_ = std::make_unique<opened>(place_, clock_);
  reader_ = std::make_unique<opened>(place_, clock_);
  struct stat about {};
  if (::stat(place_.path.c_str(), &about) == 0) {
    device_ = about.st_dev;
    inode_ = about.st_ino;
  }
  map_wake_file();
  arrive(writer_->base, here_, clock_.now());
  wake_->words().commits.fetch_add(1);
}

void connection::enter(member& fresh) {
  const time_point give_up = clock_.now() + std::chrono::seconds{5};
  write(fresh, verb::connect, give_up,
        [&](clerk& clerk) { fresh.number_.store(clerk.add_client(fresh.who_)); });
  const std::lock_guard guard{mutex_};
  members_.push_back(&fresh);
}

void connection::leave(member& leaving) noexcept {
  {
    const std::lock_guard guard{mutex_};
    std::erase(members_, &leaving);
  }
  try {
    const time_point give_up = clock_.now() + std::chrono::seconds{1};
    write(leaving, verb::close, give_up, [](clerk& clerk) { clerk.remove_client(); });
  } catch (const std::exception&) {
    // The row stays until somebody finds that this process has gone.
  }
}

/// In a database that took the place of the old one.
void connection::enter_all_again() {
  writer_->rows->begin_writing();
  const std::lock_guard guard{mutex_};
  for (member* const each : members_) {
    each->number_.store(add_client(writer_->base, here_.self, each->who_, clock_.now()));
  }
  writer_->rows->commit();
}

void connection::map_wake_file() {
  auto wake = std::make_shared<wake_file>(place_.path);
  gate_.emplace(wake->words().gate, clock_);
  const std::lock_guard guard{mutex_};
  wake_ = std::move(wake);
}

bool connection::same_database() const noexcept {
  struct stat about {};
  return ::stat(place_.path.c_str(), &about) == 0 && about.st_dev == device_ &&
         about.st_ino == inode_;
}

bool connection::files_in_place() noexcept {
  if (same_database() && wake()->in_place()) return true;
  replaced_.store(true);
  return false;
}

void connection::reopen_if_replaced() {
  if (!replaced_.exchange(false)) return;
  try {
    if (writer_ && same_database()) {
      map_wake_file();
      return;
    }
    const std::lock_guard reading{reading_};
    writer_.reset();
    reader_.reset();
    open();
    enter_all_again();
  } catch (...) {
    replaced_.store(true);
    throw;
  }
}

std::shared_ptr<wake_file> connection::wake() const {
  const std::lock_guard guard{mutex_};
  return wake_;
}

std::size_t connection::waiting() const {
  const std::lock_guard guard{mutex_};
  return pending_.size();
}

void connection::write(job& wanted) {
  reach(step::called, wanted.what_);
  bool leads = false;
  {
    const std::lock_guard guard{mutex_};
    leads = !std::exchange(writing_, true);
    if (!leads) pending_.push_back(&wanted);
  }
  if (leads || wait_until_led(wanted)) lead(wanted);
  if (wanted.failure_) std::rethrow_exception(wanted.failure_);
  reach(step::answering, wanted.what_);
}

/// Waits until somebody has done it; true when it is ours to lead.
bool connection::wait_until_led(job& wanted) {
  for (;;) {
    time_point until = time_point::max();
    const std::uint32_t seen = wanted.news_.load();
    {
      const std::lock_guard guard{mutex_};
      if (wanted.is_ == job::state::done) return false;
      if (wanted.is_ == job::state::leads) return true;
      if (wanted.is_ == job::state::pending) {
        if (clock_.now() >= wanted.give_up_) {
          std::erase(pending_, &wanted);
          wanted.failure_ = std::make_exception_ptr(too_late(place_.path));
          return false;
        }
        until = wanted.give_up_;
      }
    }
    clock_.park(wanted.news_, seen, until);
  }
}

void connection::lead(job& mine) {
  std::vector<job*> batch;
  std::vector<notice> notices;
  try {
    reopen_if_replaced();
    writer_->base.give_up_at(mine.give_up_);
    if (carry_out(mine, batch, notices)) wake_->words().commits.fetch_add(1);
    tell(notices);
    reach(step::told, mine.what_);
  } catch (...) {
    mine.failure_ = std::current_exception();
    for (job* const each : batch) each->failure_ = mine.failure_;
  }
  finish(batch);
}

/// True: something was committed.
bool connection::carry_out(job& mine, std::vector<job*>& batch, std::vector<notice>& notices) {
  const auto entry = gate_->enter(mine.give_up_, [this] {
    try {
      writer_->base.give_up_at(clock_.now());
      writer_->rows->begin_writing();
      return true;
    } catch (const fault&) {
      return false;
    }
  });
  if (entry == gate::entry::too_late) throw too_late(place_.path);
  try {
    reach(step::gate, mine.what_);
    writer_->base.give_up_at(mine.give_up_);
    const bool begun = entry == gate::entry::begun;
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
    const std::lock_guard guard{mutex_};
    if (!pending_.empty()) return false;
  }
  if (until_sweep_ == 0) return false;
  --until_sweep_;
  return mine.run_alone(*writer_->rows, mine.from_.number(), clock_.now());
}

void connection::run_batch(job& mine, std::vector<job*>& batch, std::vector<notice>& notices,
                           bool begun) {
  if (!begun) writer_->rows->begin_writing();
  reach(step::begun, mine.what_);
  take_pending(batch);
  until_sweep_ -= std::min<std::uint64_t>(until_sweep_, 1 + batch.size());
  clerk clerk{*writer_->rows, here_.self, clock_.now()};
  const auto run = [&](job& each) {
    try {
      clerk.act_for(each.from_.number());
      each.run(clerk);
    } catch (const fault&) {
      throw;
    } catch (...) {
      each.failure_ = std::current_exception();  // a refusal: the rows are as they should be
    }
  };
  run(mine);
  for (job* const each : batch) run(*each);
  sweep_if_due(clock_.now());
  reach(step::written, mine.what_);
  writer_->rows->commit();
  notices = clerk.take_notices();
}

void connection::take_pending(std::vector<job*>& batch) {
  const std::lock_guard guard{mutex_};
  while (!pending_.empty() && batch.size() < batch_max) {
    batch.push_back(pending_.front());
    pending_.pop_front();
    batch.back()->is_ = job::state::taken;
  }
}

/// Wakes those who were served, and makes the first of those who were not the next leader. A job
/// may be gone as soon as it is seen to be done: only the address of its word is used after that.
void connection::finish(const std::vector<job*>& batch) {
  std::vector<seam::park_word*> words;
  words.reserve(batch.size() + 1);
  {
    const std::lock_guard guard{mutex_};
    for (job* const each : batch) {
      each->news_.fetch_add(1);
      each->is_ = job::state::done;
      words.push_back(&each->news_);
    }
    if (pending_.empty()) {
      writing_ = false;
    } else {
      job* const next = pending_.front();
      pending_.pop_front();
      next->news_.fetch_add(1);
      next->is_ = job::state::leads;
      words.push_back(&next->news_);
    }
  }
  for (seam::park_word* const word : words) clock_.unpark(*word);
}

void connection::tell(const std::vector<notice>& notices) noexcept {
  for (const notice& each : notices) {
    hindrance* const test = hindered_by.load(std::memory_order_relaxed);
    if (test == nullptr || !test->mute()) wake_->post(each.client, each.name_hash);
  }
}

void connection::sweep_if_due(time_point now) {
  if (until_sweep_ > 0) return;
  sweep(writer_->base, now);
  const auto left = writer_->base.ask_number("SELECT count(*) FROM locks");
  until_sweep_ = std::max<std::uint64_t>(4096, 2 * static_cast<std::uint64_t>(left));
}

void connection::read(time_point give_up,
                      const std::function<void(ledger&, const process_id&)>& body) {
  const std::lock_guard guard{reading_};
  if (!reader_) {
    throw make_error(errc::unreachable,
                     "'" + place_.path + "' was removed and cannot be made again");
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
