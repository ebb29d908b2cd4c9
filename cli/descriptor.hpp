// A file descriptor that is closed when its owner goes.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace crosslock::cli {

/// Every one of ours is opened with O_CLOEXEC or its like: the command inherits none.
class descriptor {
 public:
  descriptor() noexcept = default;
  /// Takes what a system call returned; throws its error when that is -1.
  descriptor(int opened, const char* what) : number_{opened} {
    if (opened < 0) throw std::system_error{errno, std::generic_category(), what};
  }
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() { close(); }

  int get() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace crosslock::cli
