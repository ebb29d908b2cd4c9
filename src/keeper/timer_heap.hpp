// A binary heap of moments whose members know their place, so that any of them can be moved or
// taken out in logarithmic time and nothing is allocated per member.
#pragma once

#include <crosslock/time.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// `Place` is the member of T in which the heap keeps that T's index. One thread at a time.
template <class T, std::size_t T::*Place>
class timer_heap {
 public:
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  time_point first_moment() const noexcept { return entries_.front().moment; }
  const std::shared_ptr<T>& first() const noexcept { return entries_.front().member; }

  void push(std::shared_ptr<T> member, time_point moment) {
    entries_.push_back({moment, std::move(member)});
    entries_.back().member.get()->*Place = entries_.size() - 1;
    rise(entries_.size() - 1);
  }

  std::shared_ptr<T> pop() { return remove_at(0); }

  /// Harmless when the member is not in the heap.
  void remove(T& member) {
    if (member.*Place != T::nowhere) remove_at(member.*Place);
  }

  void move(T& member, time_point moment) {
    const std::size_t place = member.*Place;
    entries_[place].moment = moment;
    rise(place);
    sink(member.*Place);
  }

 private:
  struct entry {
    time_point moment;
    std::shared_ptr<T> member;
  };

  std::shared_ptr<T> remove_at(std::size_t place) {
    std::swap(entries_[place], entries_.back());
    std::shared_ptr<T> gone = std::move(entries_.back().member);
    entries_.pop_back();
    gone.get()->*Place = T::nowhere;
    if (place < entries_.size()) {
      T& moved = *entries_[place].member;
      moved.*Place = place;
      rise(place);
      sink(moved.*Place);
    }
    return gone;
  }

  void rise(std::size_t place) {
    while (place > 0) {
      const std::size_t above = (place - 1) / 2;
      if (entries_[above].moment <= entries_[place].moment) return;
      exchange(above, place);
      place = above;
    }
  }

  void sink(std::size_t place) {
    for (;;) {
      std::size_t least = place;
      for (std::size_t below = 2 * place + 1; below <= 2 * place + 2; ++below) {
        if (below < entries_.size() && entries_[below].moment < entries_[least].moment) {
          least = below;
        }
      }
      if (least == place) return;
      exchange(least, place);
      place = least;
    }
  }

  void exchange(std::size_t a, std::size_t b) {
    std::swap(entries_[a], entries_[b]);
    entries_[a].member.get()->*Place = a;
    entries_[b].member.get()->*Place = b;
  }

  std::vector<entry> entries_;
};

}  // namespace crosslock::inner
