// Certificates of a test's own, made by the openssl tool.
#pragma once

#include <filesystem>
#include <string>

namespace crosslock::servers {

/// PEM files in a folder that goes with the object. There are two authorities, `ca` and `other-ca`.
/// Of the first: `server` (for localhost and 127.0.0.1), `elsewhere` (for other.example), `expired`
/// (for localhost, until 2021) and `client`. Of the second: `forged`. `locked` is the key of
/// `client` behind a passphrase.
class tls_files {
 public:
  tls_files();
  tls_files(const tls_files&) = delete;
  tls_files& operator=(const tls_files&) = delete;
  ~tls_files();

  std::string certificate(const std::string& name) const { return folder_ / (name + ".pem"); }
  std::string key(const std::string& name) const { return folder_ / (name + ".key"); }

 private:
  std::filesystem::path folder_;
};

}  // namespace crosslock::servers
