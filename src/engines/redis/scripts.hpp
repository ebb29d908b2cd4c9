// The scripts that the server runs: the .lua files of this folder, put together.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace crosslock::redis {

struct script {
  std::string_view name;  ///< of the verb
  std::string text;
  std::string sha;          ///< how the server knows it: 40 hexadecimal digits
  bool only_reads = false;  ///< the server sees to it, and asks for no right to write
};

struct script_table {
  script ask;
  script withdraw;
  script renew;
  script release;
  script adopt;
  script break_lock;
  script look;
  script watch_cell;
  script swap_cell;
  script open_cell;

  std::array<const script*, 10> all() const noexcept {
    return {&ask,        &withdraw, &renew,      &release,   &adopt,
            &break_lock, &look,     &watch_cell, &swap_cell, &open_cell};
  }
};

const script_table& scripts();

}  // namespace crosslock::redis
