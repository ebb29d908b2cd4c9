// Stored data as a crash of the machine would find them again that lost what came last.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace crosslock::faults {

class old_files {
 public:
  /// Those of these names in `folder`; what is not there now will not be there then.
  old_files(std::filesystem::path folder, std::vector<std::string> names,
            std::filesystem::path place)
      : folder_{std::move(folder)}, names_{std::move(names)}, copy_{std::move(place)} {
    std::filesystem::create_directory(copy_);
    for (const std::string& each : names_) copy(folder_ / each, copy_ / each);
  }
  /// Nobody may have them open.
  void bring_back() const {
    for (const std::string& each : names_) {
      std::filesystem::remove_all(folder_ / each);
      copy(copy_ / each, folder_ / each);
    }
  }

 private:
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (!std::filesystem::exists(from)) return;
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  const std::filesystem::path folder_;
  const std::vector<std::string> names_;
  const std::filesystem::path copy_;
};

}  // namespace crosslock::faults
