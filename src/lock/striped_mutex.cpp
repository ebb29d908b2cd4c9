// Stripes are plain mutexes; what is special is that everybody agrees on their number.
#include <crosslock/striped_mutex.hpp>

#include "cells/agreement.hpp"

#include <atomic>
#include <utility>
#include <vector>

namespace crosslock {

struct striped_mutex::state {
  state(const client& given, std::string_view text, std::uint32_t count)
      : locks{given}, name{text}, stripes{count} {
    refuse_bad_count();
    // Names of equal length: by their bytes they stand in the order of the stripes, as multi_lock
    // wants it. The longest of them shall be legal before anything is written.
    const seam::name_ref full = locks.core()->full_name(name);
    static_cast<void>(locks.core()->full_name(name_of(count - 1)));
    agree_on_count(*full);
    made = std::vector<std::atomic<mutex*>>(count);
  }
  ~state() {
    for (auto& each : made) delete each.load();
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  std::string name_of(std::uint32_t number) const {
    const std::string digits = std::to_string(number);
    return name + '#' + std::string(5 - digits.size(), '0') + digits;
  }

  void refuse_bad_count() const {
    if (stripes >= 1 && stripes <= max_stripes) return;
    throw error{errc::conflict, "'" + name + "' cannot have " + std::to_string(stripes) +
                                    " stripes: give 1 to " + std::to_string(max_stripes)};
  }

  void agree_on_count(const lock_name& full) const {
    const auto cell =
        std::make_shared<const lock_name>(lock_name::reserved("stripes", full.view()));
    const std::string wanted = std::to_string(stripes);
    const std::string agreed = inner::agree(*locks.core(), cell, wanted);
    if (agreed == wanted) return;
    throw error{errc::conflict,
                "'" + name + "' has " + agreed + " stripes on this server, not " + wanted +
                    ": use the same number everywhere, or another name",
                {.engine = std::string{locks.engine()}}};
  }

  const client locks;
  const std::string name;
  const std::uint32_t stripes;
  std::vector<std::atomic<mutex*>> made;  // each when it is first asked for
};

striped_mutex::striped_mutex(const client& locks, std::string_view name, std::uint32_t stripes)
    : state_{std::make_unique<state>(locks, name, stripes)} {}
striped_mutex::~striped_mutex() = default;

std::uint32_t striped_mutex::stripe_of(std::string_view key) const noexcept {
  return static_cast<std::uint32_t>(stripe_hash(key) % state_->stripes);
}

mutex& striped_mutex::stripe(std::uint32_t number) {
  std::atomic<mutex*>& slot = state_->made[number];
  if (mutex* const found = slot.load(std::memory_order_acquire)) return *found;
  auto made = std::make_unique<mutex>(state_->locks, state_->name_of(number));
  mutex* before = nullptr;
  if (!slot.compare_exchange_strong(before, made.get())) return *before;  // another was quicker
  return *made.release();
}

namespace {

template <class Keys, class NameOf>
std::vector<std::string> names_of(const Keys& keys, NameOf&& name_of) {
  std::vector<std::string> names;
  for (const std::string_view key : keys) names.push_back(name_of(key));
  return names;
}

}  // namespace

multi_lock striped_mutex::all_of(std::span<const std::string> keys) const {
  return multi_lock{state_->locks, names_of(keys, [this](std::string_view key) {
                      return state_->name_of(stripe_of(key));
                    })};
}

multi_lock striped_mutex::all_of(std::initializer_list<std::string_view> keys) const {
  return multi_lock{state_->locks, names_of(keys, [this](std::string_view key) {
                      return state_->name_of(stripe_of(key));
                    })};
}

std::uint32_t striped_mutex::stripes() const noexcept { return state_->stripes; }

const std::string& striped_mutex::name() const noexcept { return state_->name; }

}  // namespace crosslock
