// A file system of a few pages, for as long as the object lives. Needs root.
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace crosslock::faults {

class small_disk {
 public:
  explicit small_disk(std::filesystem::path where, const std::string& size = "1m")
      : where_{std::move(where)} {
    std::filesystem::create_directory(where_);
    const std::string how = "size=" + size + ",mode=0755";
    mounted_ = ::mount("none", where_.c_str(), "tmpfs", 0, how.c_str()) == 0;
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  ~small_disk() {
    if (mounted_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  bool is_mounted() const noexcept { return mounted_; }
  const std::filesystem::path& path() const noexcept { return where_; }

  void fill() {
    std::ofstream file{where_ / "filler", std::ios::binary};
    const std::string page(4096, 'x');
    while (file.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void make_room() { std::filesystem::remove(where_ / "filler"); }

 private:
  const std::filesystem::path where_;
  bool mounted_ = false;
};

}  // namespace crosslock::faults
