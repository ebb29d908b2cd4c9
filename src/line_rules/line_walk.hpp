// Going along the line of a name.
#pragma once

#include "line_rules/line_server.hpp"

#include <iterator>

namespace crosslock::seam {

/// From the first in line on. Reads on when what was read of the line is not enough.
class line_server::walk {
 public:
  walk(rows& rows, name_state& at) : rows_{rows}, at_{at}, next_{at.line.begin()} {}

  /// Null at the end of the line.
  waiter* next() {
    const auto known = [&] { return next_ != at_.line.end() && next_->first <= at_.read_to; };
    while (at_.unread > 0 && !known()) {
      rows_.read_on(at_);
      next_ = at_.line.upper_bound(last_);
    }
    if (next_ == at_.line.end()) return nullptr;
    current_ = next_++;
    last_ = current_->first;
    return &current_->second;
  }

  /// Takes the one whom next() has shown out of the line.
  void drop() { at_.leave(current_); }

 private:
  rows& rows_;
  name_state& at_;
  std::map<ticket_number, waiter>::iterator next_;
  std::map<ticket_number, waiter>::iterator current_{};
  ticket_number last_ = std::numeric_limits<ticket_number>::min();
};

}  // namespace crosslock::seam
