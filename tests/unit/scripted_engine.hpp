// An engine that answers as a test says, for what no real one does at will.
#pragma once

#include "client/core.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace crosslock::inner {

/// What a test lets it do, and sees of it.
struct engine_script {
  std::function<seam::answer(const seam::claim&, time_point give_up)> ask;
  std::function<void(const seam::claim&)> withdraw = [](const seam::claim&) {};
  std::function<void()> closed = [] {};
  std::atomic<bool> on_own_thread{false};
};

class scripted_engine final : public seam::engine {
 public:
  explicit scripted_engine(std::shared_ptr<engine_script> script) : script_{std::move(script)} {}

  const seam::traits& about() const noexcept override { return traits_; }
  seam::answer ask(const seam::claim& claim, time_point give_up) override {
    return script_->ask(claim, give_up);
  }
  void ask_async(const seam::claim&, time_point) override {}
  void withdraw(const seam::claim& claim, time_point) override { script_->withdraw(claim); }
  void renew(std::span<seam::renewal>, time_point) override {}
  seam::release_answer release(const seam::grant&, time_point) override {
    return seam::release_answer::released;
  }
  std::optional<seam::grant> adopt(const seam::grant&, const seam::claim&, time_point) override {
    return {};
  }
  bool break_lock(const lock_name&, owner_id, time_point) override { return false; }
  lock_info look(const lock_name&, time_point) override { return {}; }
  std::vector<lock_info> list(std::string_view, time_point) override { return {}; }
  seam::cell read_cell(const lock_name&, time_point) override { return {}; }
  seam::swap_answer swap_cell(const seam::cell_swap&, time_point) override { return {}; }
  std::optional<seam::cell> open_cell(const lock_name&, fence, time_point) override { return {}; }
  bool on_own_thread() const noexcept override { return script_->on_own_thread; }
  void close() noexcept override { script_->closed(); }
  void abandon() noexcept override {}

  /// A client of such an engine.
  static std::shared_ptr<core> connect(const std::shared_ptr<engine_script>& script,
                                       seam::clock& clock, settings chosen = {}) {
    const auto open = [script](seam::engine_events&,
                               seam::clock&) -> std::unique_ptr<seam::engine> {
      return std::make_unique<scripted_engine>(script);
    };
    return core::make({std::move(chosen), open}, clock);
  }

  /// Grants what is asked for.
  static seam::answer granted(const seam::claim& claim, time_point now) {
    seam::answer answer;
    answer.result = seam::ask_result::granted;
    answer.granted = {.name = claim.name,
                      .owner = claim.owner,
                      .first = fence{1},
                      .last = fence{seam::fence_block},
                      .lease = claim.lease,
                      .sent = now};
    return answer;
  }

 private:
  const seam::traits traits_{.name = "scripted",
                             .shared = true,
                             .lease_min = std::chrono::milliseconds{1},
                             .lease_max = std::chrono::hours{24}};
  const std::shared_ptr<engine_script> script_;
};

}  // namespace crosslock::inner
