// A release that nobody waits for.
#pragma once

#include "engine/claim.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace crosslock::seam {

/// A grant that is being given back: its owner has let go of it and wants to hear later how that
/// ended. Made together with the claim, so that giving back needs no memory.
class parting {
 public:
  virtual ~parting() = default;
  virtual const grant& leaving() const noexcept = 0;
  /// Called once, on any thread, without a mutex of the engine. Empty: nobody knows, and somebody
  /// has to try again.
  virtual void left(std::optional<release_answer> answer) noexcept = 0;

  /// When the server must have ended its lease: it is not tried any longer.
  time_point until{};

  /// The engine's own, for as long as it is at it.
  struct notes {
    bool maybe_done = false;  ///< a request was sent that nobody has answered
    bool by_text = false;     ///< for servers that know requests by number
    std::optional<release_answer> answer{};
  };
  notes note;

 private:
  friend class parting_queue;
  std::shared_ptr<parting> next_;
};

using parting_ref = std::shared_ptr<parting>;

/// First in, first out; each in one queue at a time. Never allocates.
class parting_queue {
 public:
  parting_queue() = default;
  parting_queue(const parting_queue&) = delete;
  parting_queue& operator=(const parting_queue&) = delete;
  ~parting_queue() {
    while (!empty()) pop();  // one by one: a chain of owners would end in a deep recursion
  }

  bool empty() const noexcept { return !first_; }
  void push(parting_ref one) noexcept {
    parting* const added = one.get();
    (last_ ? last_->next_ : first_) = std::move(one);
    last_ = added;
  }
  parting_ref pop() noexcept {
    parting_ref one = std::move(first_);
    first_ = std::move(one->next_);
    if (!first_) last_ = nullptr;
    return one;
  }
  void swap(parting_queue& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
  }

 private:
  parting_ref first_;
  parting* last_ = nullptr;
};

}  // namespace crosslock::seam
