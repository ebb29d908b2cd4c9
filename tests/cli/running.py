"""Running `crosslock run`, once or in the background, and looking at what it does."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path

from tally import ROOT, environment

PROGRAM = Path(os.environ.get("CROSSLOCK_PROGRAM", ROOT / "build/release/cli/crosslock")).absolute()
PATIENCE = 20  # how long anything may take on a busy machine


def once(*words, env=None, **options):
    """(exit code, stdout, stderr) of one run."""
    try:
        done = subprocess.run([PROGRAM, "run", *words], capture_output=True, text=True,
                              timeout=PATIENCE, env=env or environment(CROSSLOCK_URL="memory:"),
                              stdin=subprocess.DEVNULL, **options)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return "still running", "", ""


class Running:
    """A run in the background, in a session of its own, whose command prints lines."""

    def __init__(self, name, script, env=None, flags=(), words=None, **options):
        self.process = subprocess.Popen(
            [PROGRAM, "run", *flags, name, "--", *(words or ["bash", "-c", script])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            start_new_session=True, env=env or environment(CROSSLOCK_URL="memory:"), **options)
        self.unread = ""

    def line(self):
        """What the command says next; empty when it says nothing in time."""
        stdout = self.process.stdout.fileno()
        while "\n" not in self.unread and select.select([stdout], [], [], PATIENCE)[0]:
            more = os.read(stdout, 4096).decode()
            if not more:
                break
            self.unread += more
        line, _, self.unread = self.unread.partition("\n")
        return line.strip()

    def send(self, number):
        self.process.send_signal(number)

    def guardian(self):
        """Its pid; None when it is not there."""
        return (children_of(self.process.pid) or [None])[0]

    def command(self):
        """The pid of the command; None when it is not there."""
        return (children_of(self.guardian()) or [None])[0]

    def end(self):
        """(exit code, the rest of stdout, stderr)"""
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
            return self.process.returncode, self.unread + out, err
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return "still running", *self.process.communicate()


# For a bash with traps: it looks at them every so often.
WAITS = "; echo started; while :; do sleep 0.02; done"
HOLDS = "echo started; exec sleep 100"


def children_of(pid):
    try:
        return [int(one) for one in
                Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def wait_until(question):
    end = time.monotonic() + PATIENCE
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def is_alive(pid):
    """Also false for one that has ended and was not waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
