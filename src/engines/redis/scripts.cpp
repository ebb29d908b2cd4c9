// The quick way of a script stands before what all of them share, so that it need not be set up.
#include "engines/redis/scripts.hpp"

#include "engines/redis/lua.hpp"  // made from the .lua files by CMake

#include <openssl/evp.h>

#include <initializer_list>
#include <stdexcept>
#include <utility>

namespace crosslock::redis {
namespace {

std::string sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &length, ::EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error{"this OpenSSL offers no SHA-1, by which Redis names its scripts"};
  }
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15U];
  }
  return hex;
}

script make(std::string_view name, std::initializer_list<std::string_view> parts,
            bool only_reads = false) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  std::string sha = sha1(text);
  return {name, std::move(text), std::move(sha), only_reads};
}

}  // namespace

const script_table& scripts() {
  static const script_table table{
      .ask = make("ask", {lua::ask_free, lua::line, lua::ask}),
      .withdraw = make("withdraw", {lua::begin, lua::line, lua::withdraw}),
      .renew = make("renew", {lua::renew_held, lua::line, lua::renew}),
      .release = make("release", {lua::release_free, lua::line, lua::release}),
      .adopt = make("adopt", {lua::begin, lua::line, lua::adopt}),
      .break_lock = make("break", {lua::begin, lua::line, lua::break_}),
      .look = make("look", {lua::look}, true),
      .watch_cell = make("watch_cell", {lua::watchers, lua::watch_cell}),
      .swap_cell = make("swap_cell", {lua::watchers, lua::swap_cell}),
      .open_cell = make("open_cell", {lua::watchers, lua::open_cell}),
  };
  return table;
}

}  // namespace crosslock::redis
