// A connection to a fresh database, and claims to ask it with, at times that a test chooses.
#pragma once

#include "engines/sqlite/connection.hpp"

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace crosslock::sqlite {

/// A directory that goes with it.
class scratch {
 public:
  scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "crosslock-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp"};
    path_ = pattern;
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline errc code_of_connecting(const std::string& path) {
  try {
    const connection made{{.path = path}, seam::real_clock()};
  } catch (const error& why) {
    return why.which();
  }
  return errc{};
}

inline owner_id owner_number(std::uint8_t number) {
  owner_id::bytes_type bytes{};
  bytes[0] = number;
  return owner_id{bytes};
}

inline seam::claim claim_for(const std::string& name, std::uint8_t owner, bool wait = false) {
  seam::claim wanted;
  wanted.name = std::make_shared<const lock_name>(name);
  wanted.owner = owner_number(owner);
  wanted.lease = std::chrono::seconds{30};
  wanted.wait = wait;
  return wanted;
}

/// A grant as far as it is proof: any of its fences.
inline seam::grant proof_of(const seam::claim& claim, std::int64_t number) {
  seam::grant paper;
  paper.name = claim.name;
  paper.owner = claim.owner;
  paper.first = fence{number};
  paper.last = fence{number};
  return paper;
}

/// One client's desk: each call is a transaction.
struct rig {
  explicit rig(const std::string& path)
      : connection{std::make_unique<sqlite::connection>(place{.path = path}, seam::real_clock())} {
    connection->enter(self);
  }

  static time_point soon() { return seam::real_clock().now() + std::chrono::seconds{5}; }

  ask_outcome ask(const seam::claim& wanted) {
    ask_outcome outcome;
    connection->write(self, verb::ask, soon(), [&](clerk& clerk) {
      outcome = clerk.ask(wanted, {true, 0});
    });
    return outcome;
  }
  ask_outcome ask(const std::string& name, std::uint8_t owner, bool wait = false) {
    return ask(claim_for(name, owner, wait));
  }
  seam::release_answer release(const seam::claim& claim, const ask_outcome& granted) {
    seam::release_answer answer{};
    connection->write(self, verb::release, soon(), [&](clerk& clerk) {
      bool left_alone = false;
      answer = clerk.release(proof_of(claim, granted.mine.first), left_alone);
    });
    return answer;
  }
  lock_info look(const std::string& name) {
    lock_info info;
    connection->read(soon(), [&](ledger& rows, const process_id& here) {
      info = inspect(rows, name, here, seam::real_clock().now());
    });
    return info;
  }

  std::unique_ptr<sqlite::connection> connection;
  member self{"somebody"};
};

}  // namespace crosslock::sqlite
