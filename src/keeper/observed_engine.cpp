// A decorator over the seam: measures each verb, and notices when the server stops or begins to
// answer.
#include "keeper/observed_engine.hpp"

#include <atomic>
#include <utility>

namespace crosslock::inner {
namespace {

class observed_engine final : public seam::engine {
 public:
  observed_engine(std::unique_ptr<seam::engine> inside, std::shared_ptr<observer> observer,
                  seam::clock& clock)
      : engine_{std::move(inside)}, observer_{std::move(observer)}, clock_{clock} {
    observer_->engine_up();
  }

  const seam::traits& about() const noexcept override { return engine_->about(); }

  seam::answer ask(const seam::claim& claim, time_point give_up) override {
    return timed(observer::verb::ask, [&] { return engine_->ask(claim, give_up); });
  }
  void ask_async(const seam::claim& claim, time_point give_up) override {
    engine_->ask_async(claim, give_up);  // its answer comes through engine_events
  }
  void withdraw(const seam::claim& claim, time_point give_up) override {
    timed(observer::verb::withdraw, [&] { engine_->withdraw(claim, give_up); });
  }
  void renew(std::span<seam::renewal> batch, time_point give_up) override {
    timed(observer::verb::renew, [&] { engine_->renew(batch, give_up); });
  }
  seam::release_answer release(const seam::grant& grant, time_point give_up) override {
    return timed(observer::verb::release, [&] { return engine_->release(grant, give_up); });
  }
  void post_release(std::span<const seam::parting_ref> batch,
                    time_point give_up) noexcept override {
    engine_->post_release(batch, give_up);  // nobody waits: there is no round trip to time
  }
  void listen_for_wanted(seam::claim_key key) noexcept override {
    engine_->listen_for_wanted(key);  // its answer comes through engine_events
  }
  std::optional<seam::grant> adopt(const seam::grant& detached, const seam::claim& next,
                                   time_point give_up) override {
    return timed(observer::verb::adopt, [&] { return engine_->adopt(detached, next, give_up); });
  }
  bool break_lock(const lock_name& name, owner_id owner, time_point give_up) override {
    return timed(observer::verb::break_lock,
                 [&] { return engine_->break_lock(name, owner, give_up); });
  }
  lock_info look(const lock_name& name, time_point give_up) override {
    return timed(observer::verb::look, [&] { return engine_->look(name, give_up); });
  }
  std::vector<lock_info> list(std::string_view prefix, time_point give_up) override {
    return timed(observer::verb::look, [&] { return engine_->list(prefix, give_up); });
  }
  void await_news(seam::clock& clock, seam::park_word& word, std::uint32_t expected,
                  time_point until) override {
    engine_->await_news(clock, word, expected, until);
  }
  void rouse(seam::clock& clock, seam::park_word& word) noexcept override {
    engine_->rouse(clock, word);
  }
  seam::cell read_cell(const lock_name& name, time_point give_up) override {
    return timed(observer::verb::read_cell, [&] { return engine_->read_cell(name, give_up); });
  }
  seam::cell watch_cell(const lock_name& name, duration span, time_point give_up) override {
    return timed(observer::verb::read_cell,
                 [&] { return engine_->watch_cell(name, span, give_up); });
  }
  seam::swap_answer swap_cell(const seam::cell_swap& wanted, time_point give_up) override {
    return timed(observer::verb::swap_cell, [&] { return engine_->swap_cell(wanted, give_up); });
  }
  std::optional<seam::cell> open_cell(const lock_name& name, fence token,
                                      time_point give_up) override {
    return timed(observer::verb::open_cell,
                 [&] { return engine_->open_cell(name, token, give_up); });
  }
  std::vector<seam::finding> examine(time_point give_up) override {
    return engine_->examine(give_up);
  }
  bool on_own_thread() const noexcept override { return engine_->on_own_thread(); }
  void close() noexcept override { engine_->close(); }
  void abandon() noexcept override { engine_->abandon(); }

 private:
  template <class Verb>
  auto timed(observer::verb verb, Verb&& call) -> decltype(call()) {
    const time_point before = clock_.now();
    try {
      if constexpr (std::is_void_v<decltype(call())>) {
        call();
        answered(verb, before);
      } else {
        auto result = call();
        answered(verb, before);
        return result;
      }
    } catch (const error& why) {
      const bool silent = why.which() == errc::unreachable || why.which() == errc::timed_out;
      if (silent && up_.exchange(false)) observer_->engine_down(why);
      throw;
    }
  }

  void answered(observer::verb verb, time_point before) {
    if (!up_.load(std::memory_order_relaxed) && !up_.exchange(true)) observer_->engine_up();
    observer_->round_trip(verb, clock_.now() - before);
  }

  const std::unique_ptr<seam::engine> engine_;
  const std::shared_ptr<observer> observer_;
  seam::clock& clock_;
  std::atomic<bool> up_{true};
};

}  // namespace

std::unique_ptr<seam::engine> observe(std::unique_ptr<seam::engine> engine,
                                      std::shared_ptr<observer> observer, seam::clock& clock) {
  return std::make_unique<observed_engine>(std::move(engine), std::move(observer), clock);
}

}  // namespace crosslock::inner
