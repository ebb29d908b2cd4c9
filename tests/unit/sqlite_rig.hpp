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
#include <variant>
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

/// Throws what was refused.
inline seam::ask_answer answer_of(const std::variant<seam::ask_answer, seam::refusal>& heard) {
  if (const auto* const no = std::get_if<seam::refusal>(&heard)) {
    throw make_error(no->code, no->text);
  }
  return std::get<seam::ask_answer>(heard);
}

/// One client: each call is a transaction.
struct rig {
  explicit rig(const std::string& path)
      : connection{std::make_unique<sqlite::connection>(database_location{.path = path},
                                                        seam::real_clock())} {
    connection->enter(self);
  }

  static time_point soon() { return seam::real_clock().now() + std::chrono::seconds{5}; }

  seam::ask_answer ask(const seam::claim& wanted) {
    seam::ask_answer answer;
    connection->write(self, verb::ask, soon(),
                      [&](seam::line_server& line) { answer = answer_of(line.ask(wanted)); });
    return answer;
  }
  seam::ask_answer ask(const std::string& name, std::uint8_t owner, bool wait = false) {
    return ask(claim_for(name, owner, wait));
  }
  seam::release_answer release(const seam::claim& claim, const seam::ask_answer& granted) {
    seam::release_answer answer{};
    connection->write(self, verb::release, soon(), [&](seam::line_server& line) {
      answer = line.release(claim.name, claim.owner, granted.granted.first).answer;
    });
    return answer;
  }
  lock_info look(const std::string& name) {
    lock_info info;
    connection->read(soon(), [&](ledger& rows, const process_id& here) {
      table_rows tables{rows, here, seam::real_clock().now()};
      info = seam::line_server{tables}.look(name);
    });
    return info;
  }

  std::unique_ptr<sqlite::connection> connection;
  member self{"somebody"};
};

}  // namespace crosslock::sqlite
