// Keeping idle CPUs from halting.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace crosslock::bench {

/// Holds /dev/cpu_dma_latency open with 0 while it lives: idle CPUs then poll instead of halting.
/// On a virtual machine, waking a halted CPU costs more than everything that is measured here.
class awake_cpus {
 public:
  awake_cpus() : device_{::open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC)} {
    const std::int32_t longest_us = 0;
    if (device_ >= 0 && ::write(device_, &longest_us, sizeof longest_us) < 0) close();
  }
  ~awake_cpus() { close(); }
  awake_cpus(const awake_cpus&) = delete;
  awake_cpus& operator=(const awake_cpus&) = delete;

  bool works() const noexcept { return device_ >= 0; }

 private:
  void close() noexcept {
    if (device_ >= 0) ::close(device_);
    device_ = -1;
  }

  int device_;
};

}  // namespace crosslock::bench
