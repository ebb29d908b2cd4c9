// A binary heap of moments whose members know their index, so that any of them can be moved or
// taken out in logarithmic time and nothing is allocated per member.
#pragma once

#include <crosslock/time.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// `Index` is the member of T in which the heap keeps that T's index. One thread at a time.
template <class T, std::size_t T::*Index>
class timer_heap {
 public:
  bool empty() const noexcept { return heap_.empty(); }
  std::size_t size() const noexcept { return heap_.size(); }
  time_point first_moment() const noexcept { return heap_.front().moment; }
  const std::shared_ptr<T>& first() const noexcept { return heap_.front().member; }

  void push(std::shared_ptr<T> member, time_point moment) {
    heap_.push_back({moment, std::move(member)});
    heap_.back().member.get()->*Index = heap_.size() - 1;
    rise(heap_.size() - 1);
  }

  std::shared_ptr<T> pop() { return remove_at(0); }

  /// Harmless when the member is not in the heap.
  void remove(T& member) {
    if (member.*Index != T::nowhere) remove_at(member.*Index);
  }

  void move(T& member, time_point moment) {
    const std::size_t index = member.*Index;
    heap_[index].moment = moment;
    rise(index);
    sink(member.*Index);
  }

 private:
  struct timed_member {
    time_point moment;
    std::shared_ptr<T> member;
  };

  std::shared_ptr<T> remove_at(std::size_t index) {
    std::swap(heap_[index], heap_.back());
    std::shared_ptr<T> gone = std::move(heap_.back().member);
    heap_.pop_back();
    gone.get()->*Index = T::nowhere;
    if (index < heap_.size()) {
      T& moved = *heap_[index].member;
      moved.*Index = index;
      rise(index);
      sink(moved.*Index);
    }
    return gone;
  }

  void rise(std::size_t index) {
    while (index > 0) {
      const std::size_t above = (index - 1) / 2;
      if (heap_[above].moment <= heap_[index].moment) return;
      exchange(above, index);
      index = above;
    }
  }

  void sink(std::size_t index) {
    for (;;) {
      std::size_t least = index;
      for (std::size_t below = 2 * index + 1; below <= 2 * index + 2; ++below) {
        if (below < heap_.size() && heap_[below].moment < heap_[least].moment) {
          least = below;
        }
      }
      if (least == index) return;
      exchange(least, index);
      index = least;
    }
  }

  void exchange(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    heap_[a].member.get()->*Index = a;
    heap_[b].member.get()->*Index = b;
  }

  std::vector<timed_member> heap_;
};

}  // namespace crosslock::inner
