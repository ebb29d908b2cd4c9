// What has come from the server and is to be told, in order.
#pragma once

#include "engines/zookeeper/connection.hpp"

#include <zookeeper/zookeeper.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace crosslock::zookeeper {

/// A request that has not been answered.
struct connection::pending {
  connection* home = nullptr;
  hearer then{};
  response said{};
  std::vector<zoo_op_result_t> results{};  ///< transactions: written to by the library
  std::vector<std::string> created{};      ///< the same
};

/// One of these.
struct connection::arrival {
  enum class signal { none, shortened, suspended, resumed, ended, beat };
  std::unique_ptr<pending> answered{};
  std::optional<event> news{};
  signal what = signal::none;
  session_number session = 0;
};

}  // namespace crosslock::zookeeper
