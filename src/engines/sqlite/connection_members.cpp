// The clients of one process: which of them share a connection, how they enter and leave, and how
// they hear of each other.
#include "engine/fork_guard.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/schema.hpp"

#include <chrono>
#include <utility>

namespace crosslock::sqlite {
namespace {

struct open_one {
  database_location where;
  const seam::clock* clock;
  std::weak_ptr<connection> there;
};

constinit seam::fork_safe_mutex guarding_open_ones;
// Never destroyed: clients of static objects may outlive every other static.
constinit std::vector<open_one>* open_ones CROSSLOCK_GUARDED_BY(guarding_open_ones) = nullptr;

std::shared_ptr<connection> find_open_one(const database_location& location,
                                          const seam::clock& clock)
    CROSSLOCK_REQUIRES(guarding_open_ones) {
  if (open_ones == nullptr) open_ones = new std::vector<open_one>;
  std::erase_if(*open_ones, [](const open_one& each) { return each.there.expired(); });
  for (const open_one& each : *open_ones) {
    if (each.where == location && each.clock == &clock) return each.there.lock();
  }
  return nullptr;
}

bool muted() {
  hindrance* const test = hindered_by.load(std::memory_order_relaxed);
  return test != nullptr && test->mute();
}

}  // namespace

std::shared_ptr<connection> connection::to(const database_location& location, seam::clock& clock) {
  refuse_after_fork();
  {
    const seam::lock_guard guard{guarding_open_ones};
    if (auto found = find_open_one(location, clock)) return found;
  }
  auto fresh = std::make_shared<connection>(location, clock);
  const seam::lock_guard guard{guarding_open_ones};
  if (auto found = find_open_one(location, clock)) return found;  // somebody else was faster
  open_ones->push_back({location, &clock, fresh});
  return fresh;
}

void connection::enter(member& fresh) {
  const time_point give_up = clock_.now() + std::chrono::seconds{5};
  write(fresh, verb::connect, give_up,
        [&](seam::line_server&) { fresh.number_.store(put_on_list(fresh)); });
  const seam::lock_guard guard{mutex_};
  members_.emplace(fresh.number(), &fresh);
}

void connection::leave(member& leaving) noexcept {
  {
    const seam::lock_guard guard{mutex_};
    std::erase_if(members_, [&](const auto& each) { return each.second == &leaving; });
  }
  seam::park_unless(clock_, leaving.last_visit_over_, [&]() -> std::optional<time_point> {
    const seam::lock_guard guard{mutex_};
    return leaving.visits_ == 0 ? std::nullopt : std::optional{time_point::max()};
  });
  try {
    const time_point give_up = clock_.now() + std::chrono::seconds{1};
    write(leaving, verb::close, give_up, [&](seam::line_server&) {
      remove_client(writer_->base, process_of(leaving.pid_, here_.self), leaving.number());
    });
  } catch (const std::exception&) {
    // The row stays until somebody finds that this process has gone.
  }
}

client_number connection::put_on_list(const member& one) {
  const client_number number = add_client(writer_->base, process_of(one.pid_, here_.self), one.who_,
                                          clock_.now(), first_number_.load());
  if (first_number_.load() == nobody) first_number_.store(number);
  return number;
}

void connection::ring_out(const wake_file& before, client_number whose) const noexcept {
  wake_file::ring(before.mailbox_of(whose));
  wake_file::ring(wake()->mailbox_of(whose));  // mapped already, but not yet under this number
}

/// In a database that took the place of the old one.
void connection::enter_all_again() {
  writer_->rows->begin_writing();
  const seam::lock_guard guard{mutex_};
  std::unordered_map<client_number, member*> again;
  first_number_.store(nobody);
  for (const auto& [former, each] : members_) {
    each->number_.store(put_on_list(*each));
    again.emplace(each->number(), each);
  }
  writer_->rows->commit();
  members_.swap(again);
}

bool connection::is_member(client_number client) const {
  const seam::lock_guard guard{mutex_};
  return members_.contains(client);
}

void connection::tell_others(const std::vector<notice>& notices) noexcept {
  for (const notice& each : notices) {
    if (is_member(each.client) || muted()) continue;
    if (each.client == watchers) {
      leaders_wake().tell_watchers(each.name_hash, clock_.now());
    } else {
      leaders_wake().post(each.client, each.name_hash);
    }
  }
}

/// Those of this process are told here and now: no thread of theirs has to wake up for it first.
void connection::tell_members(const std::vector<notice>& notices) noexcept {
  for (const notice& each : notices) {
    if (is_member(each.client) && !muted()) visit(each);
  }
}

void connection::visit(const notice& news) noexcept {
  member* whom = nullptr;
  {
    const seam::lock_guard guard{mutex_};
    const auto found = members_.find(news.client);
    if (found == members_.end()) return;
    whom = found->second;
    ++whom->visits_;
  }
  try {
    if (whom->hear_) whom->hear_(news.name_hash);
  } catch (const std::exception&) {
    wake()->post(news.client, news.name_hash);  // the thread that hears will try
  }
  seam::park_word& over = whom->last_visit_over_;
  {
    const seam::lock_guard guard{mutex_};
    over.fetch_add(1);
    --whom->visits_;  // it may be gone from now on
  }
  clock_.unpark(over);
}

}  // namespace crosslock::sqlite
