"""Does clang see a mutex that was forgotten? engine/guarded.hpp, used well and badly."""

import tempfile
from pathlib import Path

from tally import run

FRAME = """
#include "engine/guarded.hpp"

namespace crosslock {{

class account {{
 public:
  void change() {{ {body} }}

 private:
  void add() CROSSLOCK_REQUIRES(mutex_) {{ ++sum_; }}
  void ask_server() CROSSLOCK_EXCLUDES(mutex_) {{}}
  seam::mutex& mutex() CROSSLOCK_RETURN_CAPABILITY(mutex_) {{ return mutex_; }}

  seam::mutex mutex_;
  int sum_ CROSSLOCK_GUARDED_BY(mutex_) = 0;
}};

void use(account& one) {{ one.change(); }}

}}  // namespace crosslock
"""

GOOD = [
    "const seam::lock_guard guard{mutex_}; add(); ++sum_;",
    "const seam::lock_guard guard{mutex()}; add();",
    "{ const seam::lock_guard guard{mutex_}; add(); } ask_server();",
    "seam::unique_lock guard{mutex_}; add(); guard.unlock(); ask_server(); guard.lock(); add();",
    "seam::lock_guard guard{mutex_}; { seam::unlocked now{mutex_}; ask_server(); } add();",
    "const seam::lock_guard guard{mutex_}; [this]() CROSSLOCK_REQUIRES(mutex_) { add(); }();",
]
BAD = [
    "++sum_;",
    "add();",
    "{ const seam::lock_guard guard{mutex_}; } ++sum_;",
    "const seam::lock_guard guard{mutex_}; ask_server();",
    "seam::unique_lock guard{mutex_}; guard.unlock(); add();",
    "const seam::lock_guard guard{mutex_}; const seam::unlocked now{mutex_}; add();",
    "const seam::lock_guard guard{mutex_}; [this] { add(); }();",
    "mutex_.lock();",
]


def check(tally, compiler):
    """`compiler`: the command of the suite, but for the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "account.cpp"

        def verdict(body):
            path.write_text(FRAME.format(body=body))
            return run([*compiler, path])

        for body in GOOD:
            code, said = verdict(body)
            tally.check(f"clang accepts: {body}", code == 0, said)
        for body in BAD:
            code, said = verdict(body)
            tally.check(f"clang refuses: {body}", code != 0 and "-Wthread-safety" in said, said)
