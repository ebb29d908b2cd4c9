// A few control sequences that every terminal of the last forty years knows (ECMA-48, xterm).
#include "cli/looking/screen.hpp"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace crosslock::cli {
namespace {

constexpr std::string_view other_screen = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view first_screen = "\x1b[?25h\x1b[?1049l";
constexpr int of_interest[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGINT,
                               SIGHUP,   SIGQUIT, SIGUSR1, SIGUSR2};

/// False when it cannot be written: the terminal has gone.
bool write_all(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

screen::screen() : keyboard_{isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : -1} { enter(); }

screen::~screen() { leave(); }

void screen::enter() {
  if (inside_) return;
  inside_ = true;
  if (keyboard_ >= 0 && tcgetattr(keyboard_, &before_) == 0) {
    termios direct = before_;
    direct.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(keyboard_, TCSADRAIN, &direct);
  } else {
    keyboard_ = -1;
  }
  write_all(other_screen);
}

void screen::leave() noexcept {
  if (!inside_) return;
  inside_ = false;
  write_all(first_screen);
  if (keyboard_ >= 0) tcsetattr(keyboard_, TCSADRAIN, &before_);
}

bool screen::draw(const std::vector<std::string>& lines) {
  const std::size_t rows = size().rows;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), rows); ++i) {
    // By position: an end of line would scroll in the last one. And what was there is erased before
    // the text, for behind a full line the cursor still stands on its last letter.
    text += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[K" + lines[i];
  }
  if (lines.size() < rows) text += "\x1b[" + std::to_string(lines.size() + 1) + ";1H\x1b[J";
  return write_all(text);
}

screen::extent screen::size() {
  winsize found{};
  extent known;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0) return known;
  if (found.ws_col > 0) known.columns = found.ws_col;
  if (found.ws_row > 0) known.rows = found.ws_row;
  return known;
}

std::optional<char> screen::key() {
  char pressed = 0;
  if (::read(keyboard_, &pressed, 1) == 1) return pressed;
  keyboard_ = -1;
  return std::nullopt;
}

screen_signals::screen_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int each : of_interest) {
    struct sigaction now {};
    sigaction(each, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&wanted, each);
  }
  pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  arrivals_ = {signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"};
}

screen_signals::~screen_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> screen_signals::next() {
  signalfd_siginfo info{};
  if (::read(arrivals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace crosslock::cli
