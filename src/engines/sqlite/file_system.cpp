// SQLite's write-ahead log needs shared memory among all its users, and so do our wake-ups: one
// kernel must see all of them. On what is mounted over a network, or through a program of a
// user's, that is not so, or not sure.
#include "engines/sqlite/file_system.hpp"

#include "engines/sqlite/database.hpp"

#include <fcntl.h>
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

/// For everything else than a right that is missing the remedy is another URL.
[[noreturn]] void refuse_directory(const std::string& directory, int code) {
  const std::string which = "the directory '" + directory + "' cannot be used: " + reason(code);
  if (code == ENOENT) {
    throw make_error(errc::invalid_url,
                     which + "; make it, put ?mkdir=yes behind the URL, or name another place",
                     code);
  }
  const bool rights = code == EACCES || code == EPERM;
  throw make_error(rights ? errc::denied : errc::invalid_url,
                   which + (rights ? "; ask its owner for the right, or name another place"
                                   : "; name another place"),
                   code);
}

bool may(const std::string& path, int what) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

/// SQLite would try to read from a pipe. And it would open what it may only read, and make files
/// beside it, with the rights of that one: then those who may write it could not any more.
void require_usable_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return;
  if (!S_ISREG(about.st_mode)) {
    const char* const kind = S_ISDIR(about.st_mode) ? "is a directory" : "is not a file";
    throw make_error(errc::invalid_url,
                     "'" + path + "' " + kind + ": name a file for the database");
  }
  if (!may(path, R_OK | W_OK)) {
    throw make_error(errc::denied,
                     "'" + path + "' cannot be used: " + reason(errno) +
                         "; it must be readable and writable for this user: ask its owner for "
                         "the rights, or name another file",
                     SQLITE_PERM);
  }
}

/// The rights of a new database whose own would be `mode`. A directory that belongs to a group, so
/// that new files do as well, and that the group may write, is meant to be shared; a umask would
/// keep the group from all that the first user makes.
mode_t shared_mode(const struct stat& directory, const struct stat& file) {
  mode_t mode = file.st_mode & 0666;
  constexpr mode_t of_group = S_ISGID | S_IWGRP | S_IXGRP;
  if ((directory.st_mode & of_group) == of_group && file.st_gid == directory.st_gid) {
    mode |= S_IRGRP | S_IWGRP;
    if ((directory.st_mode & S_IXOTH) == 0) mode &= ~mode_t{S_IRWXO};
  }
  return mode;
}

/// Open and closed again.
class new_file {
 public:
  new_file(const std::string& path, int how)
      : number_{::open(path.c_str(), how | O_RDWR | O_CLOEXEC, 0644)} {}
  ~new_file() {
    if (made()) ::close(number_);
  }
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;

  bool made() const noexcept { return number_ >= 0; }
  void share_within(const std::string& directory) const {
    struct stat there {};
    struct stat mine {};
    if (::stat(directory.c_str(), &there) != 0 || ::fstat(number_, &mine) != 0) return;
    const mode_t wanted = shared_mode(there, mine);
    if (wanted != (mine.st_mode & 0666)) static_cast<void>(::fchmod(number_, wanted));
  }
  bool appear_at(const std::string& path) const {
    const std::string here = "/proc/self/fd/" + std::to_string(number_);
    return ::linkat(AT_FDCWD, here.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

 private:
  const int number_;
};

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

void require_fit_location(const std::string& path) {
  const std::string directory = directory_of(path);
  struct statfs about {};
  struct stat there {};
  if (::statfs(directory.c_str(), &about) != 0 || ::stat(directory.c_str(), &there) != 0) {
    refuse_directory(directory, errno);
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
  if (!S_ISDIR(there.st_mode)) refuse_directory(directory, ENOTDIR);
  if (!may(directory, W_OK | X_OK)) {
    throw make_error(errc::denied, "the directory '" + directory +
                                       "' is not writable: " + reason(errno) +
                                       "; files beside the database must be made there: ask for "
                                       "the right, or name another place");
  }
  require_usable_file(path);
}

void make_shared_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) return;
  const std::string directory = directory_of(path);
  // It gets its name when it has its rights: nobody of the group finds it closed.
  const new_file nameless{directory, O_TMPFILE};
  if (nameless.made()) {
    nameless.share_within(directory);
    if (nameless.appear_at(path) || errno == EEXIST) return;
  }
  const new_file plain{path, O_CREAT | O_EXCL | O_NOFOLLOW};
  if (plain.made()) plain.share_within(directory);
}

}  // namespace crosslock::sqlite
