// Our side of the interop suite on ZooKeeper: a program that uses crosslock as its users do, and is
// told by lines on its input what to do. The actors of the other libraries understand the same
// lines (zookeeper_actors.py).
#include <crosslock/crosslock.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string moment_ns() {
  return std::to_string(std::chrono::nanoseconds{steady::now().time_since_epoch()}.count());
}

/// What the locks protect: a number in a file that everybody reads, and writes back one higher; and
/// a folder in which everybody who is inside has an entry.
class protected_resource {
 public:
  protected_resource(const std::string& file, milliseconds inside)
      : file_{open(file.c_str(), O_RDWR | O_CLOEXEC)}, folder_{file + ".d"}, inside_{inside} {
    if (file_ < 0) throw std::runtime_error{"no file to count in: " + file};
  }
  ~protected_resource() { close(file_); }
  protected_resource(const protected_resource&) = delete;
  protected_resource& operator=(const protected_resource&) = delete;

  void add_one() const {
    const long before = read_number();
    std::this_thread::sleep_for(inside_);
    std::string text = std::to_string(before + 1);
    text.insert(0, digits - text.size(), '0');
    if (pwrite(file_, text.data(), digits, 0) != digits) throw std::runtime_error{"cannot count"};
  }

  /// Whether it stayed the same for a while.
  bool stays() const {
    const long before = read_number();
    std::this_thread::sleep_for(inside_);
    return read_number() == before;
  }

  /// How many are inside, this one included.
  long enter_and_leave() const {
    const auto entry = folder_ / moment_ns().append("-").append(std::to_string(getpid()));
    close(open(entry.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const auto count = std::distance(std::filesystem::directory_iterator{folder_}, {});
    std::this_thread::sleep_for(inside_);
    std::filesystem::remove(entry);
    return static_cast<long>(count);
  }

 private:
  static constexpr int digits = 12;

  long read_number() const {
    char text[digits + 1] = {};
    if (pread(file_, text, digits, 0) != digits) throw std::runtime_error{"cannot read"};
    return std::stol(text);
  }

  const int file_;
  const std::filesystem::path folder_;
  const milliseconds inside_;
};

/// A lock of any kind (zookeeper_actors.py).
class any_lock {
 public:
  any_lock(const crosslock::client& locks, const std::string& kind, const std::string& name)
      : kind_{kind} {
    constexpr std::string_view permits = "permits:";
    if (kind == "mutex") {
      mutex_.emplace(locks, name);
    } else if (kind == "write" || kind == "read") {
      shared_.emplace(locks, name);
    } else if (kind == "semaphore_mutex") {
      semaphore_.emplace(locks, name, 1);
    } else if (kind.starts_with(permits)) {
      semaphore_.emplace(locks, name, std::stoi(kind.substr(permits.size())));
    } else if (kind == "multi") {
      multi_.emplace(locks, names_in(name));
    } else {
      throw std::runtime_error{"no such kind: " + kind};
    }
  }

  bool acquire(milliseconds patience) {
    if (multi_) return (multi_hold_ = multi_->try_acquire_for(patience)).has_value();
    hold_ = mutex_            ? mutex_->try_acquire_for(patience)
            : semaphore_      ? semaphore_->try_acquire_for(patience)
            : kind_ == "read" ? shared_->try_acquire_shared_for(patience)
                              : shared_->try_acquire_for(patience);
    return hold_.has_value();
  }

  void downgrade() { shared_->downgrade(hold_.value()); }

  bool release() {
    const auto result = multi_hold_ ? multi_hold_->release() : hold_.value().release();
    hold_.reset();
    multi_hold_.reset();
    return result == crosslock::release_result::released;
  }

  /// What somebody inside does. Returns whether all was well; `most` becomes the most at once.
  bool use(const protected_resource& resource, long& most) const {
    if (kind_ == "read") return resource.stays();
    if (!kind_.starts_with("permits")) {
      resource.add_one();
      return true;
    }
    most = std::max(most, resource.enter_and_leave());
    return true;
  }

 private:
  static std::vector<std::string> names_in(const std::string& text) {
    std::vector<std::string> names;
    std::istringstream words{text};
    for (std::string name; std::getline(words, name, ',');) names.push_back(name);
    return names;
  }

  const std::string kind_;
  std::optional<crosslock::mutex> mutex_;
  std::optional<crosslock::shared_mutex> shared_;
  std::optional<crosslock::semaphore> semaphore_;
  std::optional<crosslock::multi_lock> multi_;
  std::optional<crosslock::hold> hold_;
  std::optional<crosslock::multi_hold> multi_hold_;
};

class actor {
 public:
  explicit actor(const std::string& url) : locks_{crosslock::connect(url)} {}

  std::string perform(const std::string& line) {
    std::istringstream words{line};
    std::string verb, kind, name, file;
    words >> verb;
    long first = 0, second = 0;
    if (verb == "release") {
      const std::string moment = moment_ns();
      return held_ && held_->release() ? "out " + moment : "not ours";
    }
    if (verb == "downgrade") {
      held_->downgrade();
      return "shared";
    }
    if (verb == "acquire" && words >> kind >> name >> first) {
      held_ = std::make_unique<any_lock>(locks_, kind, name);
      return held_->acquire(milliseconds{first}) ? "in " + moment_ns() : "busy";
    }
    const bool locked = verb == "count";
    if ((locked || verb == "count_unlocked") && words >> kind >> name >> file >> first >> second) {
      any_lock lock{locks_, kind, name};
      return count(locked, lock, {file, milliseconds{second}}, milliseconds{first});
    }
    throw std::runtime_error{"not understood: " + line};
  }

 private:
  static std::string count(bool locked, any_lock& lock, const protected_resource& resource,
                           milliseconds span) {
    long times = 0, wrong = 0, most = 0;
    for (const auto end = steady::now() + span; steady::now() < end; ++times) {
      constexpr milliseconds patience{20'000};
      if (locked && !lock.acquire(patience)) return "never got in";
      if (!lock.use(resource, most)) ++wrong;
      if (locked && !lock.release()) return "could not let go";
    }
    std::ostringstream said;
    said << "did " << times << ' ' << wrong << ' ' << most;
    return said.str();
  }

  const crosslock::client locks_;
  std::unique_ptr<any_lock> held_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error{"usage: crosslock-interop-zookeeper URL"};
  actor me{argv[1]};
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << me.perform(line) << std::endl;
  }
  return 0;
} catch (const std::exception& failure) {
  std::cout << "failed: " << failure.what() << std::endl;
  return 1;
}
