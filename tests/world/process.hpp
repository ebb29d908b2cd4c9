// A simulated process: the clock that the library is given, and the threads it starts there.
#pragma once

#include "engine/clock.hpp"
#include "world/task.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crosslock::world {

class scheduler;

/// Made by world::make_process(), lives as long as its world. now() may be called from anywhere;
/// all else only by simulated threads and timed events of the same world, which never run at the
/// same time. Blocking calls are for simulated threads only.
class process final : public seam::clock {
 public:
  process(scheduler& scheduler, std::string name);
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() override;

  time_point now() const noexcept override;
  void park(seam::park_word& word, std::uint32_t expected, time_point until) override;
  void unpark(seam::park_word& word) noexcept override;
  std::unique_ptr<seam::alarm> make_alarm() override;
  std::unique_ptr<seam::thread> start(std::string_view name, std::function<void()> body) override;
  void fill_random(std::span<std::uint8_t> bytes) override;

  /// Blocks the calling thread; zero only lets others run.
  void sleep(duration length);

  /// Until resume() no thread of this process runs: what wakes them meanwhile takes effect then.
  /// A thread that pauses its own process stops in this call, and must hold no mutex.
  void pause();
  void resume() noexcept;
  bool paused() const noexcept { return home_.paused; }

  /// From now on alive() is false, and nothing this process does may count any more: networks and
  /// recorders ask alive(). Its threads go on (resumed, if need be), so that their code runs out by
  /// itself. The hooks run in this call; a hook added to a dead process runs at once.
  void kill();
  bool alive() const noexcept { return home_.alive; }
  void on_kill(std::function<void()> hook);

  /// A woken thread of this process runs up to this much virtual time later.
  void wake_delay(duration longest) noexcept { home_.wake_delay = longest; }

  const std::string& name() const noexcept { return home_.name; }

 private:
  friend class world;

  scheduler& scheduler_;
  home home_;
  std::vector<std::function<void()>> kill_hooks_;
};

}  // namespace crosslock::world
