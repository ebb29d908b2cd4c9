// SHA-1 by OpenSSL: ZooKeeper compares what the server computes of user and password with this.
#include "engines/zookeeper/digest.hpp"

#include <crosslock/error.hpp>

#include <openssl/evp.h>

#include <array>

namespace crosslock::zookeeper {

std::string digest_id(std::string_view user, std::string_view password) {
  const std::string secret = std::string{user} + ':' + std::string{password};
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int size = 0;
  if (EVP_Digest(secret.data(), secret.size(), hash.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw error{errc::unsupported, "zookeeper: OpenSSL offers no SHA-1, which digest users need"};
  }
  std::array<unsigned char, 4 * ((EVP_MAX_MD_SIZE + 2) / 3) + 1> text{};
  const int length = EVP_EncodeBlock(text.data(), hash.data(), static_cast<int>(size));
  return std::string{user} + ':' + std::string{text.data(), text.data() + length};
}

}  // namespace crosslock::zookeeper
