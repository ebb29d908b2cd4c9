// Who lets the client library read and write. One thread at a time has the seat: a caller that
// waits for its answer, one that waits for news, or else our own thread. Whoever gives the seat up
// sees to it that somebody takes it who needs it.
#include "engines/zookeeper/arrival.hpp"
#include "engines/zookeeper/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace crosslock::zookeeper {
namespace {

using namespace std::chrono_literals;

/// While callers come one after another our own thread keeps out of their way, and looks only so
/// often whether they still do.
constexpr duration out_of_the_way = 10ms;
constexpr duration idle_longest = 1h;

/// Whose news this thread is telling just now.
thread_local const connection* telling = nullptr;

}  // namespace

void connection::ring() noexcept {
  if (bell_ < 0 || telling == this) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
}

void connection::wake(flight& one) noexcept {
  one.word.fetch_add(1);
  clock_.unpark(one.word);
}

/// Nobody has it: whoever needs it is woken.
void connection::offer_seat() {
  seat_word_.fetch_add(1);
  if (closing_) {
    clock_.unpark(seat_word_);
    return;
  }
  if (!parked_.empty()) return wake(*parked_.front());
  if (listening_ > 0 || expected_news_.load() > 0) owner_wanted_ = true;
  if (!owner_wanted_ && !owner_sleeps_) return;
  owner_sleeps_ = false;
  owner_word_.fetch_add(1);
  clock_.unpark(owner_word_);
}

void connection::drive_once(time_point until) {
  tend(clock_.now());
  if (arrived_.empty()) poll_once(until);
  deliver();
}

void connection::poll_once(time_point until) {
  const time_point before = clock_.now();
  int interest = 0;
  timeval patience{1, 0};
  if (handle_ != nullptr) {
    note_refusal(show_interest(interest, patience));
    note_state(before);
    if (!arrived_.empty() || (state_ == standing::ended && !refusal_)) return;
  }
  std::array<pollfd, 3> fds{{{bell_, POLLIN, 0}, {descriptor_, 0, 0}, {pulse_, POLLIN, 0}}};
  if ((interest & ZOOKEEPER_READ) != 0) fds[1].events |= POLLIN;
  if ((interest & ZOOKEEPER_WRITE) != 0) fds[1].events |= POLLOUT;
  duration longest =
      std::chrono::seconds{patience.tv_sec} + std::chrono::microseconds{patience.tv_usec};
  if (state_ == standing::connected && !refusal_) {
    longest = std::min(longest, next_heartbeat_ - before);
  } else if (state_ != standing::connected) {
    longest = std::min(longest, attempt_longest());
    // The library lets commands inherit it.
    if (descriptor_ >= 0) fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  }
  if (handle_ == nullptr || refusal_) longest = std::min(longest, handle_again_at_ - before);
  longest = std::clamp<duration>(std::min(longest, until - before), 0ns, idle_longest);
  const auto ns = longest.count();
  const timespec span{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  {
    const seam::unlocked meanwhile{mutex_};
    ppoll(fds.data(), fds.size(), &span, nullptr);
  }
  for (const pollfd& one : {fds[0], fds[2]}) {
    if (one.revents == 0) continue;
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto heard = ::read(one.fd, &rung, sizeof rung);
  }
  if (handle_ == nullptr || descriptor_ < 0) return;
  int events = 0;
  if ((fds[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) events |= ZOOKEEPER_READ;
  if ((fds[1].revents & (POLLOUT | POLLHUP | POLLERR)) != 0) events |= ZOOKEEPER_WRITE;
  if (events == 0) return;
  const time_point processed = clock_.now();
  if ((events & ZOOKEEPER_READ) != 0) unheard_since_.reset();
  const int code = zookeeper_process(handle_, events);
  // It has closed the descriptor: the number may be somebody else's soon.
  if (code != ZOK && code != ZNOTHING) descriptor_ = attempt_on_ = -1;
  note_refusal(code);
  note_state(processed);
}

void connection::note_refusal(int code) noexcept {
  if (code != ZCONNECTIONLOSS || state_ == standing::connected || thread_) return;
  // The second time round everybody has been asked.
  if (!refused_.insert(current_server()).second) all_refused_ = true;
}

/// Tells what has arrived, in order, without the mutex. Whoever has the seat does this, so nobody
/// else can tell anything meanwhile.
void connection::deliver() {
  while (!arrived_.empty()) {
    arrival next = std::move(arrived_.front());
    arrived_.pop_front();
    const bool resumes = next.what == arrival::signal::resumed;
    {
      const seam::unlocked meanwhile{mutex_};
      const connection* const before = std::exchange(telling, this);
      tell(next);
      next = {};  // what it owns may end here, and asks whose thread this is
      telling = before;
    }
    if (!resumes) continue;
    resumed_ = true;
    for (flight* one : parked_) wake(*one);
  }
}

void connection::tell(arrival& what) {
  if (what.answered) {
    if (what.answered->then) what.answered->then(what.answered->said);
    return;
  }
  if (what.news) return listener_.heard(*what.news);
  switch (what.what) {
    case arrival::signal::none:
      return;
    case arrival::signal::shortened:
      return listener_.shortened();
    case arrival::signal::suspended:
      return listener_.suspended(
          make_error(errc::unreachable, how_.shown + ": the connection is lost"));
    case arrival::signal::resumed:
      return listener_.resumed(what.session);
    case arrival::signal::ended:
      return listener_.ended(what.session);
    case arrival::signal::beat:
      return listener_.beat();
  }
}

/// A request has run out of time, and nothing at all has come meanwhile: whoever is next shall not
/// wait for the same silence. But a server that is merely slow must not lose its clients time and
/// again, for then no heartbeat would ever be proven.
void connection::hang_up_if_silent() noexcept {
  const duration silence = std::max<duration>(timeout_ / 8, 500ms);
  const time_point now = clock_.now();
  const bool silent = unheard_since_ && now - *unheard_since_ >= silence;
  if (silent && !something_came() && state_ == standing::connected && now - hung_up_ > timeout_ / 2)
    hang_up();
}

bool connection::await_so_far(flight& mine, time_point until) {
  const seam::lock_guard guard{mutex_};
  return land(mine, until);
}

bool connection::await(flight& mine, time_point give_up) {
  const seam::lock_guard guard{mutex_};
  const bool landed = land(mine, give_up);
  if (!landed) hang_up_if_silent();
  return landed;
}

/// In the seat, whatever happens there: at its end whoever needs the seat is woken.
class connection::driver {
 public:
  explicit driver(connection& of) noexcept : of_{of} {}
  ~driver() {
    of_.driver_waits_on_ = nullptr;
    of_.seat_.leave();
    of_.offer_seat();
  }
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

 private:
  connection& of_;
};

/// Drives, or parks while somebody else does, until it is over or its time is up.
template <class Over>
void connection::ride(flight& mine, time_point give_up, const Over& over) {
  ++calls_;
  while (!over() && !closing_ && clock_.now() < give_up) {
    if (seat_.take()) {
      const driver here{*this};
      while (!over() && !closing_ && clock_.now() < give_up) drive_once(give_up);
      return;
    }
    const std::uint32_t seen = mine.word.load();
    if (over()) break;
    parked_.push_back(&mine);
    {
      const seam::unlocked meanwhile{mutex_};
      clock_.park(mine.word, seen, give_up);
    }
    parked_.remove(&mine);
  }
  if (!seat_.taken()) offer_seat();
}

bool connection::land(flight& mine, time_point give_up) {
  ride(mine, give_up, [&mine] { return mine.landed(); });
  return mine.landed();
}

void connection::wait_until(time_point give_up, const std::function<bool()>& ready) {
  const seam::lock_guard guard{mutex_};
  flight mine;
  ride(mine, give_up, [&]() CROSSLOCK_REQUIRES(mutex_) { return refusal_ || ready(); });
  if (ready()) return;
  if (closing_) throw make_error(errc::closed, "the client was closed");
  if (refusal_) throw error{*refusal_};
  refuse_unconnected();
}

void connection::require(time_point give_up) {
  wait_until(give_up, [this]() CROSSLOCK_REQUIRES(mutex_) {
    return state_ == standing::connected && resumed_ && !refusal_;
  });
}

void connection::refuse_unconnected() const {
  std::string why = how_.shown + ": no server answers";
  if (handle_ == nullptr && last_failure_ == ENOENT) why += "; a host name cannot be resolved";
  throw make_error(errc::unreachable, why);
}

void connection::send(std::span<asked> requests, session_number session) {
  const seam::lock_guard guard{mutex_};
  if (closing_) throw make_error(errc::closed, "the client was closed");
  if (refusal_) throw error{*refusal_};
  if (state_ != standing::connected) refuse_unconnected();
  if (session != 0 && (session_id_ == 0 || session != session_)) {
    throw make_error(errc::unreachable, how_.shown + ": the session has ended");
  }
  for (asked& one : requests) submit(one);
  if (!seat_.taken()) return;
  // Normally everything has been written by now. What has not must wait for room.
  int descriptor = -1;
  int interest = 0;
  timeval patience{};
  const time_point before = clock_.now();
  zookeeper_interest(handle_, &descriptor, &interest, &patience);
  note_state(before);
  if (descriptor != descriptor_) descriptor_ = attempt_on_ = -1;
  if ((interest & ZOOKEEPER_WRITE) != 0 || !arrived_.empty() || descriptor_ < 0) ring();
}

namespace {

bool only_reads(const std::vector<request>& all) {
  return std::ranges::none_of(all, [](const request& one) {
    switch (one.what) {
      case request::kind::create:
      case request::kind::erase:
      case request::kind::write:
      case request::kind::transaction:
        return true;
      default:
        return false;
    }
  });
}

}  // namespace

/// Reading is done again when the connection was lost under way: it changes nothing.
std::vector<response> connection::call(std::vector<request> requests, time_point give_up) {
  const bool again = only_reads(requests);
  for (;;) {
    auto said = call_once(again ? requests : std::move(requests), again, give_up);
    const bool cut = std::ranges::any_of(said, &response::cut_off);
    if (!again || !cut || clock_.now() >= give_up) return said;
  }
}

std::vector<response> connection::call_once(std::vector<request> requests, bool harmless,
                                            time_point give_up) {
  require(give_up);
  struct batch {
    flight way;
    std::vector<response> said;
  };
  const auto mine = std::make_shared<batch>();
  mine->said.resize(requests.size());
  mine->way.missing.store(static_cast<int>(requests.size()));
  std::vector<asked> all;
  all.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    all.push_back({std::move(requests[i]), [this, mine, i](response& said) {
                     mine->said[i] = std::move(said);
                     if (mine->way.missing.fetch_sub(1) == 1) wake(mine->way);
                   }});
  }
  send(all);
  if (!await(mine->way, give_up)) {
    throw make_error(errc::timed_out, how_.shown + " did not answer in time", 0, !harmless);
  }
  return std::move(mine->said);
}

response connection::call(request one, time_point give_up) {
  std::vector<request> all;
  all.push_back(std::move(one));
  return std::move(call(std::move(all), give_up).front());
}

void connection::await_news(seam::park_word& word, std::uint32_t expected, time_point until) {
  const seam::lock_guard guard{mutex_};
  ++calls_;
  if (word.load() != expected || closing_) return;
  if (!seat_.take()) {
    ++listening_;
    {
      const seam::unlocked meanwhile{mutex_};
      clock_.park(word, expected, until);
    }
    --listening_;
    return;
  }
  const driver here{*this};
  driver_waits_on_ = &word;
  while (word.load() == expected && !closing_ && clock_.now() < until) drive_once(until);
}

void connection::rouse(seam::park_word& word) noexcept {
  {
    const seam::lock_guard guard{mutex_};
    if (driver_waits_on_ == &word) ring();
  }
  clock_.unpark(word);
}

void connection::expect_news(int more) noexcept {
  if (expected_news_.fetch_add(more) + more <= 0 || more < 0) return;
  const seam::lock_guard guard{mutex_};
  if (!seat_.taken()) offer_seat();
}

void connection::rest() {
  const std::uint32_t seen = owner_word_.load();
  if (owner_wanted_) return;
  // Whoever has the seat wakes it when leaving; callers who come and go should not have to.
  owner_sleeps_ = seat_.taken();
  const duration longest = owner_sleeps_ ? idle_longest : out_of_the_way;
  {
    const seam::unlocked meanwhile{mutex_};
    clock_.park(owner_word_, seen, clock_.now() + longest);
  }
  owner_sleeps_ = false;
}

void connection::own_thread() {
  const seam::lock_guard guard{mutex_};
  std::uint64_t seen_calls = calls_;
  while (!closing_) {
    // Callers who are refused never drive.
    const bool callers = calls_ != seen_calls && !refusal_;
    seen_calls = calls_;
    if ((callers && !owner_wanted_) || !seat_.take()) {
      owner_wanted_ = false;
      rest();
      continue;
    }
    owner_wanted_ = false;
    const auto needed = [&]() CROSSLOCK_REQUIRES(mutex_) {
      return parked_.empty() &&
             (calls_ == seen_calls || listening_ > 0 || expected_news_.load() > 0);
    };
    const driver here{*this};
    do {
      drive_once(clock_.now() + idle_longest);
    } while (!closing_ && needed());
  }
}

bool connection::on_own_thread() const noexcept {
  if (telling == this) return true;
  const seam::lock_guard guard{mutex_};
  return thread_ && thread_->is_current();
}

}  // namespace crosslock::zookeeper
