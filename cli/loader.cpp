// The library is taken from beside the core in use, never from a search path: an engine of another
// installation would be of another version. It stays loaded until the program ends.
#include "cli/loader.hpp"

#include <crosslock/version.hpp>

#include <dlfcn.h>
#include <filesystem>
#include <string>

namespace crosslock::cli {
namespace {

std::filesystem::path core_directory() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&crosslock::version), &found) == 0) return {};
  return std::filesystem::absolute(found.dli_fname).parent_path();
}

}  // namespace

const seam::engine_export* load_engine(std::string_view engine) {
  const std::string name{engine};
  const auto file = core_directory() / ("libcrosslock-" + name + ".so." CROSSLOCK_SOVERSION);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return static_cast<const seam::engine_export*>(
      dlsym(library, ("crosslock_engine_" + name).c_str()));
}

}  // namespace crosslock::cli
