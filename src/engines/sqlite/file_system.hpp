// Whether a directory is a fit place for a database that several processes share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crosslock::sqlite {

/// The name of a file system on which locks or mapped files of one machine's processes cannot be
/// trusted, by the magic number of statfs(2); empty for any other.
std::string_view unfit_file_system(std::uint64_t magic) noexcept;

/// Makes missing directories of the path of a file, for this user alone. Throws `denied`.
void make_directories(const std::string& path);

/// Throws `invalid_url` when the directory of `path` is missing, or `path` is something else than a
/// file, `denied` when the directory is not writable for this user, `unsupported` when its file
/// system is unfit.
void require_fit_location(const std::string& path);

/// Makes an empty file if there is none, for SQLite to fill. In a directory that a group shares
/// (setgid, and writable for it) the group may write it whatever the umask says, and others have no
/// right that the directory does not give. SQLite gives the files beside it the same rights. What
/// fails here fails again, and is told, when SQLite opens the file.
void make_shared_file(const std::string& path);

}  // namespace crosslock::sqlite
