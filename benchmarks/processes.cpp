// Starting this program again.
#include "benchmarks/processes.hpp"

#include "benchmarks/crosslock_subject.hpp"
#include "benchmarks/engines/engine.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace crosslock::bench {

processes::~processes() {
  for (const pid_t id : ids_) {
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
}

void processes::start(std::vector<std::string> words, int inherited) {
  words.insert(words.begin(), "crosslock-bench");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
  pid_t id = 0;
  const int code = posix_spawn(&id, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw std::system_error{code, std::generic_category(), "another process"};
  ids_.push_back(id);
}

std::size_t processes::running() {
  std::erase_if(ids_, [](pid_t id) { return waitpid(id, nullptr, WNOHANG) != 0; });
  return ids_.size();
}

std::unique_ptr<subject> join(std::string_view engine, std::string_view subject,
                              const std::string& address) {
  if (subject == "crosslock") return make_crosslock_subject(address);
  const auto all = offers();
  const auto found = std::ranges::find(all, engine, &offer::name);
  if (found == all.end()) throw std::runtime_error{"there is no such engine"};
  return found->join(subject, address);
}

}  // namespace crosslock::bench
