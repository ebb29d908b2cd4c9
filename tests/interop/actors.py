"""A private redis-server, and actors: processes that use one lock library each, and do what they
are told by lines.

    acquire NAME PATIENCE_MS LEASE_MS  -> in MOMENT | busy       (lease 0: without end)
    release NAME                       -> out MOMENT | not ours  (moment: before it let go)
    count NAME KEY SPAN_MS PAUSE_MS    -> did TIMES LONGEST      (wait for the lock, in ns)
    count_unlocked ...                   the same, without the lock

Counting is: read a number, write it back one higher. Moments are CLOCK_MONOTONIC in ns, which all
processes share."""

import socket
import subprocess
import tempfile
import time

from tally import ROOT, environment

HERE = ROOT / "tests" / "interop"
NODE_FOLDER = ROOT / "build" / "interop"
# python3-redis is Debian's, so it is found by Debian's Python.
PYTHON = "/usr/bin/python3"


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {seconds} s")
        time.sleep(0.001)


class Server:
    """redis-server without persistence, on a port of its own, until the end of `with`."""

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", self.folder.name], stdout=subprocess.DEVNULL)
        try:
            until(self.connects)
        except RuntimeError:
            self.process.kill()
            raise
        return self

    def connects(self):
        try:
            self.link = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        except OSError:
            return False
        self.lines = self.link.makefile("rb")
        return True

    def __exit__(self, *_):
        self.link.close()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, *words):
        """One command; its answer as text, a number, or None."""
        command = [b"*%d\r\n" % len(words)]
        for word in words:
            text = str(word).encode()
            command.append(b"$%d\r\n%s\r\n" % (len(text), text))
        self.link.sendall(b"".join(command))
        head = self.lines.readline().decode().strip()
        kind, rest = head[0], head[1:]
        if kind == "$":
            return None if rest == "-1" else self.lines.read(int(rest) + 2)[:-2].decode()
        return int(rest) if kind == ":" else rest


class Actor:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1, env=environment())

    def begin(self, *words):
        """What it says comes later, by `answer`."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().strip()

    def tell(self, *words):
        self.begin(*words)
        return self.answer()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Stage:
    """The actors on one server; all of them end with it."""

    def __init__(self, server, program):
        self.server = server
        self.program = program
        self.actors = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for actor in self.actors:
            actor.end()

    def ours(self, query=""):
        url = f"redis://127.0.0.1:{self.server.port}{query}"
        return self.enter("crosslock", [self.program, self.server.port, url])

    def redis_py(self):
        return self.enter("redis-py",
                          [PYTHON, HERE / "redis_py_actor.py", self.server.port])

    def redlock(self):
        return self.enter("redlock",
                          ["node", HERE / "redlock_actor.mjs", self.server.port, NODE_FOLDER])

    def enter(self, name, command):
        actor = Actor(name, command)
        self.actors.append(actor)
        said = actor.answer()
        if said != "ready":
            raise RuntimeError(f"{name} does not get ready: {said}")
        return actor
