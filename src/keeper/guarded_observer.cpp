// A decorator: events happen in noexcept functions and on the library's own threads, where an
// exception would end the process.
#include "keeper/guarded_observer.hpp"

#include <utility>

namespace crosslock::inner {
namespace {

class guarded_observer final : public observer {
 public:
  explicit guarded_observer(std::shared_ptr<observer> users) noexcept : users_{std::move(users)} {}

  void acquired(const acquired_event& event) noexcept override {
    tell([&] { users_->acquired(event); });
  }
  void waited(std::string_view name, wait_result how, duration time) noexcept override {
    tell([&] { users_->waited(name, how, time); });
  }
  void renewed(std::string_view name, crosslock::fence token, renew_result how) noexcept override {
    tell([&] { users_->renewed(name, token, how); });
  }
  void lost(const lost_event& event) noexcept override {
    tell([&] { users_->lost(event); });
  }
  void released(const released_event& event) noexcept override {
    tell([&] { users_->released(event); });
  }
  void fence_rejected(std::string_view name, crosslock::fence shown,
                      crosslock::fence highest) noexcept override {
    tell([&] { users_->fence_rejected(name, shown, highest); });
  }
  void suspended(const error& why) noexcept override {
    tell([&] { users_->suspended(why); });
  }
  void resumed() noexcept override {
    tell([&] { users_->resumed(); });
  }
  void engine_up() noexcept override {
    tell([&] { users_->engine_up(); });
  }
  void engine_down(const error& why) noexcept override {
    tell([&] { users_->engine_down(why); });
  }
  void round_trip(verb which, duration time) noexcept override {
    tell([&] { users_->round_trip(which, time); });
  }

 private:
  template <class Event>
  static void tell(const Event& event) noexcept {
    try {
      event();
    } catch (...) {
      // Nobody asked it, and what it was told about goes on.
    }
  }

  const std::shared_ptr<observer> users_;
};

}  // namespace

std::shared_ptr<observer> guarded(std::shared_ptr<observer> users) {
  if (!users) return nullptr;
  return std::make_shared<guarded_observer>(std::move(users));
}

}  // namespace crosslock::inner
