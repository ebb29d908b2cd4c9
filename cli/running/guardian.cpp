// The program's side: one fork, one socket.
#include "cli/running/guardian.hpp"

#include "cli/running/guarding.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

namespace crosslock::cli {
namespace {

template <std::size_t Size>
void put(std::array<char, Size>& field, const std::string& text) {
  std::copy_n(text.begin(), std::min(text.size(), Size - 1), field.begin());
}

}  // namespace

guardian::guardian(guarded what) : what_{std::move(what)} {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error{errno, std::generic_category(), "socketpair"};
  }
  socket_ = {ends[0], "socketpair"};
  cli::descriptor theirs{ends[1], "socketpair"};
  // Where CHLD is ignored the kernel throws exit codes away.
  std::signal(SIGCHLD, SIG_DFL);
  // Should the guardian be killed, the orphans of the group come to us.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (pid_ == 0) {
    socket_.close();  // or we would keep our own end of the program alive
    guard(what_, std::move(theirs));
  }
}

void guardian::dismiss() noexcept {
  if (pid_ < 0) return;
  socket_.close();
  if (idle_) kill(pid_, SIGKILL);  // it may be frozen, and has nothing left to do
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void guardian::launch(const lock_facts& facts, const stop_times& times,
                      bool in_foreground) noexcept {
  order message{.what = order::kind::launch, .times = times, .in_foreground = in_foreground};
  put(message.fence, facts.fence);
  put(message.owner, facts.owner);
  put(message.engine, facts.engine);
  idle_ = false;
  send(message);
}

void guardian::keep(const stop_times& times) noexcept {
  send({.what = order::kind::keep, .times = times});
}

void guardian::pass_on(int signal) noexcept {
  send({.what = order::kind::pass_on, .signal = signal});
}

void guardian::stop(const stop_times& times) noexcept {
  send({.what = order::kind::stop, .times = times});
}

std::optional<report> guardian::next() noexcept {
  report message;
  const arrival got = receive_message(socket_.get(), message);
  if (got == arrival::closed) dead_ = true;
  if (got == arrival::here && message.what == report::kind::started) command_ = message.number;
  idle_ = idle_ || (got == arrival::here &&
                    (message.what == report::kind::gone || message.what == report::kind::too_late ||
                     message.what == report::kind::cannot_launch));
  return got == arrival::here ? std::optional{message} : std::nullopt;
}

bool guardian::kill_group() noexcept {
  if (command_ == 0) return true;
  kill(-command_, SIGKILL);
  // Those of the group that are ours now; the guardian itself is left for the destructor.
  while (waitpid(-command_, nullptr, WNOHANG) > 0) {
  }
  return !group_.anybody_in(command_);
}

void guardian::give_up() noexcept { kill(pid_, SIGKILL); }

void guardian::send(const order& message) noexcept { send_message(socket_.get(), message); }

}  // namespace crosslock::cli
