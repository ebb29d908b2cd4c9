"""Holders, waiters, servers and terminals for the cases of list, show, watch, top and break."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from contextlib import contextmanager

from doctor_cases import redis_server
from running import HOLDS, PATIENCE, PROGRAM, wait_until
from tally import environment
from zookeeper_server import zookeeper_url

PYTHON = "/usr/bin/python3"  # that of the distribution has redis-py


def ask(url, *words, **variables):
    """(exit code, stdout, stderr) of a command that ends by itself."""
    try:
        done = subprocess.run([PROGRAM, *words], capture_output=True, timeout=PATIENCE, text=True,
                              env=environment(CROSSLOCK_URL=url, **variables),
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return "still running", "", ""


def objects(url, *words, **variables):
    """The JSON objects that a command prints."""
    return [json.loads(line) for line in ask(url, *words, **variables)[1].splitlines()]


def shown(url, name):
    return objects(url, "show", name, "--json")[0]


class Background:
    """A command that goes on until it is stopped, and prints lines."""

    def __init__(self, url, *words, **options):
        self.process = subprocess.Popen(
            [PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, start_new_session=True, env=environment(CROSSLOCK_URL=url),
            **options)
        self.pid = self.process.pid
        self.unread = b""

    def line(self):
        """What it says next; empty when it says nothing in time."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.unread:
            pipe = self.process.stdout.fileno()
            ready, _, _ = select.select([pipe], [], [], max(0, end - time.monotonic()))
            more = os.read(pipe, 65536) if ready else b""
            if not more:
                return ""
            self.unread += more
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode()

    def object(self):
        line = self.line()
        return json.loads(line) if line else {}

    def end(self, number=signal.SIGTERM):
        """(exit code, the rest of stdout, stderr) after that signal; 0 sends none."""
        if number and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
            return self.process.returncode, (self.unread + out).decode(), err.decode()
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.communicate()
            return "still running", "", ""


@contextmanager
def background(url, *words, **options):
    started = Background(url, *words, **options)
    try:
        yield started
    finally:
        started.end()


@contextmanager
def holder(url, name, *options):
    """A `crosslock run` that holds; `fence` and `owner_id` are what its command was told."""
    script = f"echo $CROSSLOCK_FENCE $CROSSLOCK_OWNER_ID; {HOLDS}"
    with background(url, "run", *options, name, "--", "bash", "-c", script) as started:
        started.fence, started.owner_id = started.line().split()
        started.line()
        yield started


@contextmanager
def waiter(url, name, place, *options):
    """One that stands in line, at that place."""
    with background(url, "run", *options, name, "--", "bash", "-c", HOLDS) as started:
        wait_until(lambda: len(shown(url, name)["line"]) == place)
        yield started


@contextmanager
def engines():
    """(name, URL) of every engine whose locks another process can see."""
    with tempfile.TemporaryDirectory(prefix="crosslock-look-") as folder:
        with redis_server(folder) as redis, zookeeper_url(folder) as zookeeper:
            yield [("sqlite", f"sqlite://{folder}/locks.db"), ("redis", redis),
                   ("zookeeper", zookeeper)]


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, url, *words, rows=24, columns=80, ignored=None, **variables):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.seen = ""
        self.process = subprocess.Popen(
            [PROGRAM, *words], stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
            start_new_session=True, preexec_fn=lambda: self.prepare(ignored),
            env=environment(**{"CROSSLOCK_URL": url, "TERM": "xterm", "NO_COLOR": "", **variables}))

    @staticmethod
    def prepare(ignored):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if ignored:
            signal.signal(ignored, signal.SIG_IGN)

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.ours, text.encode())

    def read(self, text):
        """Whether it says that, before patience ends; what was said up to there is forgotten."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            ready, _, _ = select.select([self.ours], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            self.seen += os.read(self.ours, 65536).decode(errors="replace")
        self.last = self.seen[:self.seen.index(text) + len(text)]
        self.seen = self.seen[len(self.last):]
        return True

    def restored(self):
        return termios.tcgetattr(self.theirs) == self.before

    def end(self):
        """Its exit code, and all it said since the last read."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "still running"
        while select.select([self.ours], [], [], 0)[0]:
            self.seen += os.read(self.ours, 65536).decode(errors="replace")
        return code, self.seen

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@contextmanager
def terminal(url, *words, **options):
    opened = Terminal(url, *words, **options)
    try:
        yield opened
    finally:
        opened.close()
