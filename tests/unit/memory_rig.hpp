// Transcripts of requests to a memory server.
#pragma once

#include "line_rig.hpp"

namespace crosslock::memory {

class rig final : public line_rig {
 public:
  explicit rig(server_limits limits = {}) : server_under_test{limits} {
    for (client_id client = 1; client <= 9; ++client) server_under_test.connect(client);
  }

  server::outcome apply(client_id from, const request& message) override {
    return server_under_test.apply(from, message, now);
  }

  server server_under_test;
};

}  // namespace crosslock::memory
