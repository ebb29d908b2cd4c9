// A descriptor that is closed in time, and how to get to a server.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace crosslock::proxy {

/// Of a server on this machine: a path, or a port of 127.0.0.1.
struct address {
  std::string path{};
  std::uint16_t port = 0;
};

class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_{number} {}
  descriptor(descriptor&& from) noexcept : number_{std::exchange(from.number_, -1)} {}
  descriptor& operator=(descriptor&& from) noexcept {
    std::swap(number_, from.number_);
    return *this;
  }
  ~descriptor() { close(); }

  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  void close() noexcept;
  /// The other side sees a reset instead of an orderly end.
  void reset() noexcept;

 private:
  int number_ = -1;
};

/// Does not block once it is there. Closed when the server refuses.
descriptor connect_to(const address& where);
/// On a free port of 127.0.0.1.
descriptor make_listener();
std::uint16_t port_of(const descriptor& listener);
/// The next who knocks; closed when there is none.
descriptor accept_from(const descriptor& listener);
/// Turns away whoever knocks, with the port kept; and lets them in again.
void stop_listening(const descriptor& listener);
void go_on_listening(const descriptor& listener);

}  // namespace crosslock::proxy
