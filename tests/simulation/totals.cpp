// The counters by name.
#include "simulation/totals.hpp"

namespace crosslock::simulation {

namespace {

constexpr std::array<std::string_view, count_size> names{
    "asked",
    "passed",
    "pushed",
    "refreshed",
    "looked",
    "joined",
    "lost: expired",
    "lost: gone",
    "lost: broken",
    "lost: lease ended",
    "lost: max_hold",
    "lost: closed",
    "busy",
    "timed out",
    "stopped",
    "unknown outcomes",
    "callbacks",
    "re-entries",
    "shared holds",
    "permit holds",
    "upgrades",
    "upgrade conflicts",
    "downgrades",
    "renewals",
    "detached",
    "adopted",
    "adopted too late",
    "breaks",
    "loss callbacks",
    "losses noticed before a write",
    "stale writes refused",
    "updates lost without a fence",
    "forged releases refused",
    "late renewals refused",
    "expected overlaps",
    "messages dropped",
    "messages delayed",
    "messages duplicated",
    "messages overtaken",
    "process paused",
    "paused in its entered",
    "server paused",
    "cut both ways",
    "cut to the server",
    "cut to the client",
    "refused",
    "clock stepped forward",
    "clock stepped back",
    "crash, state kept",
    "crash, state lost",
    "crash, state rolled back",
    "process killed",
    "wake-ups dropped",
    "client closed early",
    "calm seeds",
    "strict_fifo seeds",
    "seeds judged for order",
};

}  // namespace

std::string_view to_string(count what) noexcept { return names[static_cast<std::size_t>(what)]; }

void totals::add(const totals& other) noexcept {
  for (std::size_t i = 0; i < count_size; ++i) values_[i] += other.values_[i];
}

std::string totals::table() const {
  constexpr std::size_t columns = 3;
  constexpr std::size_t width = 42;
  std::string text;
  for (std::size_t i = 0; i < count_size; ++i) {
    std::string cell = std::string{names[i]} + " " + std::to_string(values_[i]);
    const bool last = i % columns == columns - 1 || i + 1 == count_size;
    if (!last && cell.size() < width) cell.resize(width, ' ');
    text += "  " + cell + (last ? "\n" : "");
  }
  return text;
}

std::string totals::missing() const {
  std::string text;
  for (std::size_t i = 0; i < count_size; ++i) {
    if (values_[i] != 0) continue;
    text += (text.empty() ? "" : ", ") + std::string{names[i]};
  }
  return text;
}

}  // namespace crosslock::simulation
