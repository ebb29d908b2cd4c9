// A futex mutex over processes. Whoever comes by while it is open goes in first, which is the
// fastest; but who has waited for a millisecond gets it handed over, so nobody starves.
#include "engines/sqlite/gate.hpp"

#include <algorithm>
#include <chrono>

namespace crosslock::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr duration patience = 1ms;
/// How long nothing may move before the one inside is taken for dead or frozen.
constexpr duration stuck = 20ms;

}  // namespace

bool gate::take_if_open(std::uint32_t as) noexcept {
  std::uint32_t expected = open;
  if (!words_.state.compare_exchange_strong(expected, as)) return false;
  words_.entries.fetch_add(1, std::memory_order_relaxed);
  return true;
}

gate::admission gate::enter(time_point give_up, const std::function<bool()>& begin_at_once) {
  if (take_if_open(taken)) return admission::our_turn;
  const time_point came = clock_.now();
  time_point moved = came;
  std::uint32_t entries = words_.entries.load();
  bool woken = false;
  for (;;) {
    std::uint32_t seen = words_.state.load();
    if (seen == open && take_if_open(contended)) return admission::our_turn;
    // Reserved is for one who has slept here; a newcomer queues up behind.
    if (seen == reserved && woken && words_.state.compare_exchange_strong(seen, contended)) {
      words_.entries.fetch_add(1, std::memory_order_relaxed);
      return admission::our_turn;
    }
    if (seen == taken && !words_.state.compare_exchange_strong(seen, contended)) continue;
    const time_point now = clock_.now();
    if (const std::uint32_t latest = words_.entries.load(); latest != entries) {
      entries = latest;
      moved = now;
    }
    if (now - moved >= stuck) {
      moved = now;
      if (begin_at_once()) {
        words_.state.store(contended);
        words_.entries.fetch_add(1, std::memory_order_relaxed);
        return admission::begun;
      }
    }
    if (now >= give_up) return admission::too_late;
    if (now - came >= patience) words_.impatient.store(1);
    const std::uint32_t waits_for = words_.state.load();
    // For anything that makes no sense, too: it is stuck, then.
    if (waits_for != open && waits_for != taken && !(waits_for == reserved && woken)) {
      const duration nap = std::min(
          {stuck - (now - moved), give_up - now, now - came < patience ? patience : stuck});
      wait_on(words_.state, waits_for, nap.count());
      woken = true;
    }
  }
}

void gate::leave() noexcept {
  if (words_.impatient.load(std::memory_order_relaxed) != 0 && words_.impatient.exchange(0) != 0) {
    words_.state.store(reserved);
    wake_waiters(words_.state, 1);
    return;
  }
  if (words_.state.exchange(open) != taken) wake_waiters(words_.state, 1);
}

}  // namespace crosslock::sqlite
