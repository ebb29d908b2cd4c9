// Threads of one process share a client, as in any program; only settings of clients have one each.
#include "benchmarks/crosslock_subject.hpp"

#include <crosslock/crosslock.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace crosslock::bench {
namespace {

class crosslock_party final : public party {
 public:
  crosslock_party(const client& locks, const std::string& name) : mutex_{locks, name} {}

  std::int64_t lock() override {
    hold_.emplace(mutex_.acquire());
    return hold_->fence().value();
  }
  void unlock() override { hold_.reset(); }
  bool lock_async(std::function<void()> in) override {
    mutex_.acquire_async([this, in = std::move(in)](acquire_result got) {
      if (got.failure) std::rethrow_exception(got.failure);
      hold_.emplace(*std::move(got.hold));
      in();
    });
    return true;
  }

 private:
  mutex mutex_;
  std::optional<hold> hold_;
};

class crosslock_reader final : public party {
 public:
  crosslock_reader(const client& locks, const std::string& name) : lock_{locks, name} {}

  std::int64_t lock() override {
    hold_.emplace(lock_.acquire_shared());
    return 0;  // it has a fence, but those of readers rise only from one writer to the next
  }
  void unlock() override { hold_.reset(); }

 private:
  shared_mutex lock_;
  std::optional<hold> hold_;
};

class crosslock_permit final : public party {
 public:
  crosslock_permit(const client& locks, const std::string& name) : lock_{locks, name, permits} {}

  std::int64_t lock() override {
    hold_.emplace(lock_.acquire());
    return hold_->fence().value();
  }
  void unlock() override { hold_.reset(); }

 private:
  static constexpr std::int32_t permits = 3;

  semaphore lock_;
  std::optional<hold> hold_;
};

class crosslock_reentrant final : public reentrant {
 public:
  crosslock_reentrant(const client& locks, const std::string& name) : mutex_{locks, name} {
    mutex_.lock();
  }
  ~crosslock_reentrant() override { mutex_.unlock(); }

  void again(std::uint64_t times) override {
    for (; times > 0; --times) {
      mutex_.lock();
      mutex_.unlock();
    }
  }

 private:
  recursive_mutex mutex_;
};

class renewal_counter final : public observer {
 public:
  void renewed(std::string_view, crosslock::fence, renew_result result) noexcept override {
    // Only the renewal thread writes: no need for an expensive increment.
    const auto before = renewed_.load(std::memory_order_relaxed);
    if (result == renew_result::renewed) renewed_.store(before + 1, std::memory_order_relaxed);
  }
  void lost(const lost_event&) noexcept override { lost_.store(true); }

  std::uint64_t count() const {
    if (lost_) throw std::runtime_error{"a lock was lost while its renewals were measured"};
    return renewed_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> renewed_{0};
  std::atomic<bool> lost_{false};
};

class crosslock_held final : public held_locks {
 public:
  crosslock_held(const std::string& url, const std::string& prefix, std::size_t count,
                 std::chrono::milliseconds lease) {
    options how;
    how.lease = lease;
    how.observer = counter_;
    const client locks = connect(url, how);
    holds_.resize(count);
    for_each_hold([&](std::size_t i) {
      holds_[i].emplace(mutex{locks, prefix + std::to_string(i)}.acquire());
    });
  }
  ~crosslock_held() override {
    for_each_hold([&](std::size_t i) { holds_[i].reset(); });
  }

  std::uint64_t renewals() const override { return counter_->count(); }

 private:
  /// Very many by several threads, because some engines take a millisecond for each.
  void for_each_hold(const std::function<void(std::size_t)>& action) {
    constexpr std::size_t few = 1000;
    const std::size_t threads = holds_.size() > few ? 64 : 1;
    const auto work = [&](std::size_t first) {
      for (std::size_t i = first; i < holds_.size(); i += threads) action(i);
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&work, i] { work(i); });
    work(0);
  }

  const std::shared_ptr<renewal_counter> counter_ = std::make_shared<renewal_counter>();
  std::vector<std::optional<hold>> holds_;
};

class crosslock_subject final : public subject {
 public:
  crosslock_subject(std::string url, std::string name)
      : url_{std::move(url)}, name_{std::move(name)} {}

  std::string_view name() const override { return name_; }
  std::string address() const override { return url_; }

  parties assemble(const setting& setting) override {
    parties made;
    client locks = connect(url_);
    for (std::size_t i = 0; i < setting.count; ++i) {
      if (setting.who == setting::kind::clients && i > 0) locks = connect(url_);
      const std::string own_name = setting.name + "/" + std::to_string(i);
      if (setting.who == setting::kind::permits) {
        made.push_back(std::make_unique<crosslock_permit>(locks, own_name));
      } else if (setting.who == setting::kind::readers) {
        made.push_back(std::make_unique<crosslock_reader>(locks, setting.name));
      } else {
        const bool apart = setting.who == setting::kind::own_names;
        made.push_back(std::make_unique<crosslock_party>(locks, apart ? own_name : setting.name));
      }
    }
    return made;
  }

  std::unique_ptr<reentrant> enter(const std::string& name) override {
    return std::make_unique<crosslock_reentrant>(connect(url_), name);
  }

  std::unique_ptr<held_locks> hold_many(const std::string& prefix, std::size_t count,
                                        std::chrono::milliseconds lease) override {
    return std::make_unique<crosslock_held>(url_, prefix, count, lease);
  }

 private:
  const std::string url_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<subject> make_crosslock_subject(std::string url, std::string name) {
  return std::make_unique<crosslock_subject>(std::move(url), std::move(name));
}

}  // namespace crosslock::bench
