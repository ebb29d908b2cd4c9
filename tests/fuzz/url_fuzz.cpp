// libFuzzer target for every text that comes from outside without a server: URLs, lock names,
// receipts, parameter values. Each either parses, and then survives a round trip, or throws the
// one error it documents. Anything else aborts.
#include "engine/url.hpp"
#include "engine/url_values.hpp"

#include <crosslock/error.hpp>
#include <crosslock/lock_name.hpp>
#include <crosslock/owner_id.hpp>
#include <crosslock/receipt.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace crosslock;

void require(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

bool printable(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

template <class Fn>
void expect_only(errc code, Fn fn) {
  try {
    fn();
  } catch (const error& failure) {
    require(failure.which() == code, "the error is the documented one");
    require(printable(failure.what()), "error texts are plain ASCII");
  }
}

void try_url(std::string_view text) {
  auto parsed = seam::parse_url(text);
  const auto shown = parsed.redacted();
  require(printable(shown), "a shown URL is plain ASCII");
  const auto again = seam::parse_url(shown.size() > 65536 ? text : shown);
  require(again.redacted() == shown, "redacted URLs are read back");
  require(again.scheme == parsed.scheme && again.user == parsed.user, "scheme and user are kept");
  require(again.hosts == parsed.hosts && again.path == parsed.path, "hosts and path are kept");
  require(again.parameters.size() == parsed.parameters.size(), "parameters are kept");
  seam::take_duration(parsed, "lease");
  seam::take_bool(parsed, "tls");
  seam::take_unsigned(parsed, "replicas", 100);
  seam::require_hosts(parsed);
  seam::refuse_leftovers(parsed);
}

void try_name(std::string_view text) {
  const lock_name name{text};
  require(name.view() == text, "a name is kept as it is");
  const receipt given{"memory", name, owner_id{{1}}, fence{1}};
  const auto line = given.to_string();
  require(printable(line), "a receipt is plain ASCII");
  require(receipt::parse(line).name == name, "a receipt gives its name back");
}

void try_receipt(std::string_view text) {
  require(receipt::parse(text).to_string() == text, "a receipt has one spelling");
}

void try_values(std::string_view text) {
  if (const auto time = seam::parse_duration(text)) {
    require(*time >= duration::zero(), "a time is not negative");
    const auto ms = std::to_string(*time / std::chrono::milliseconds{1}) + "ms";
    require(seam::parse_duration(ms) == *time, "a time is read back");
  }
  if (const auto number = seam::parse_unsigned(text)) {
    require(seam::parse_unsigned(std::to_string(*number)) == *number, "a number is read back");
  }
  if (const auto id = owner_id::parse(text)) {
    require(id->to_string() == text, "an owner id has one spelling");
  }
  seam::parse_bool(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  expect_only(errc::invalid_url, [&] { try_url(text); });
  expect_only(errc::invalid_name, [&] { try_name(text); });
  expect_only(errc::protocol, [&] { try_receipt(text); });
  try_values(text);
  return 0;
}
