// The words that stand for the enumerators in JSON.
#pragma once

#include "checker/history.hpp"

#include <array>
#include <utility>

namespace crosslock::checker {

template <typename Enum, std::size_t N>
using name_table = std::array<std::pair<Enum, std::string_view>, N>;

inline constexpr name_table<phase, 12> phase_names{{
    {phase::inv, "inv"},
    {phase::ok, "ok"},
    {phase::fail, "fail"},
    {phase::info, "info"},
    {phase::queued, "queued"},
    {phase::lost, "lost"},
    {phase::cs_in, "cs_in"},
    {phase::cs_out, "cs_out"},
    {phase::fence_ok, "fence_ok"},
    {phase::fence_rej, "fence_rej"},
    {phase::shown, "shown"},
    {phase::nemesis, "nemesis"},
}};

inline constexpr name_table<action, 9> action_names{{
    {action::none, ""},
    {action::acq, "acq"},
    {action::reenter, "reenter"},
    {action::withdraw, "withdraw"},
    {action::rel, "rel"},
    {action::renew, "renew"},
    {action::downgrade, "downgrade"},
    {action::write, "write"},
    {action::final, "final"},
}};

inline constexpr name_table<fault, 16> fault_names{{
    {fault::none, ""},
    {fault::kill, "kill"},
    {fault::pause, "pause"},
    {fault::thaw, "thaw"},
    {fault::stutter, "stutter"},
    {fault::steady, "steady"},
    {fault::stall, "stall"},
    {fault::server_down, "server_down"},
    {fault::server_up, "server_up"},
    {fault::partition, "partition"},
    {fault::heal, "heal"},
    {fault::other, "other"},
    {fault::state_loss, "state_loss"},
    {fault::rollback, "rollback"},
    {fault::clock_step, "clock_step"},
    {fault::admin_delete, "admin_delete"},
}};

inline constexpr name_table<claim_mode, 3> mode_names{{
    {claim_mode::exclusive, "X"},
    {claim_mode::shared, "S"},
    {claim_mode::permit, "P"},
}};

template <typename Enum, std::size_t N>
constexpr std::string_view name_of(const name_table<Enum, N>& table, Enum wanted) noexcept {
  for (const auto& [value, name] : table) {
    if (value == wanted) {
      return name;
    }
  }
  return "?";
}

template <typename Enum, std::size_t N>
constexpr std::optional<Enum> value_of(const name_table<Enum, N>& table,
                                       std::string_view wanted) noexcept {
  for (const auto& [value, name] : table) {
    if (name == wanted) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace crosslock::checker
