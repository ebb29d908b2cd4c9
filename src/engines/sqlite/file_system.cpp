// SQLite's write-ahead log needs shared memory among all its users, and so do our wake-ups: one
// kernel must see all of them. On what is mounted over a network, or through a program of a
// user's, that is not so, or not sure.
#include "engines/sqlite/file_system.hpp"

#include "engines/sqlite/database.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace crosslock::sqlite {
namespace {

struct known {
  std::uint64_t magic;
  std::string_view name;
};

constexpr std::array unfit{
    known{0x6969, "NFS"},       known{0x517b, "SMB"},        known{0xff534d42, "CIFS"},
    known{0xfe534d42, "SMB 2"}, known{0x65735546, "FUSE"},   known{0x01021997, "9p"},
    known{0x00c36400, "Ceph"},  known{0x5346414f, "AFS"},    known{0x6b414653, "AFS"},
    known{0x73757245, "Coda"},  known{0x0bd00bd0, "Lustre"}, known{0x01161970, "GFS2"},
    known{0x7461636f, "OCFS2"}, known{0x20030528, "PVFS2"},  known{0x786f4256, "VirtualBox"},
    known{0x47504653, "GPFS"},  known{0xbacbacbc, "VMware"}, known{0x19830326, "BeeGFS"},
    known{0x564c, "NCP"},
};

std::string directory_of(const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path{path}.parent_path();
  return directory.empty() ? "." : directory.string();
}

std::string reason(int code) { return std::error_code{code, std::generic_category()}.message(); }

}  // namespace

std::string_view unfit_file_system(std::uint64_t magic) noexcept {
  const auto found = std::find_if(unfit.begin(), unfit.end(),
                                  [magic](const known& each) { return each.magic == magic; });
  return found == unfit.end() ? std::string_view{} : found->name;
}

void make_directories(const std::string& path) {
  const std::filesystem::path whole = directory_of(path);
  std::filesystem::path so_far;
  for (const auto& part : whole) {
    so_far /= part;
    if (::mkdir(so_far.c_str(), 0700) == 0 || errno == EEXIST) continue;
    const int code = errno;
    struct stat there {};
    if (::stat(so_far.c_str(), &there) == 0) continue;  // a read-only parent of what exists
    throw make_error(errc::denied, "the directory '" + so_far.string() +
                                       "' cannot be made: " + reason(code) +
                                       "; name another place with CROSSLOCK_URL=sqlite:PATH");
  }
}

void require_fit_place(const std::string& path) {
  const std::string directory = directory_of(path);
  struct statfs about {};
  if (::statfs(directory.c_str(), &about) != 0) {
    throw make_error(errc::denied,
                     "the directory '" + directory + "' cannot be used: " + reason(errno));
  }
  // The field is signed on some machines, the numbers are 32 bits wide.
  const auto magic = static_cast<std::uint32_t>(about.f_type);
  if (const auto name = unfit_file_system(magic); !name.empty()) {
    throw make_error(errc::unsupported,
                     "'" + directory + "' is on " + std::string{name} +
                         ", where processes cannot rely on each other's locks: put the database "
                         "on a disk of this machine, or use an engine with a server");
  }
  // SQLite would say the same later, and less clearly: it makes files beside the database.
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw make_error(errc::denied, "the directory '" + directory +
                                       "' is not writable: " + reason(errno) +
                                       "; files beside the database must be made there");
  }
}

}  // namespace crosslock::sqlite
