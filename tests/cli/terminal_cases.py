"""`crosslock run` at a terminal: whose keyboard it is, Ctrl-C, Ctrl-Z, and what people are told."""

import os
import pty
import select
import signal
import sys
import tempfile
import time

from running import HOLDS, PATIENCE, PROGRAM, Running, children_of, wait_until
from tally import environment


class Terminal:
    """A program on a terminal of its own, whose session it leads."""

    def __init__(self, words, env):
        self.pid, self.device = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, env)
        self.said = self.before = ""

    def expect(self, text):
        """Whether it says so in time. What was said up to there goes to `before`."""
        end = time.monotonic() + PATIENCE
        while text not in self.said:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.device], [], [], left)[0]:
                return False
            try:
                self.said += os.read(self.device, 4096).decode(errors="replace")
            except OSError:  # everybody has left the terminal
                return False
        before, self.said = self.said.split(text, 1)
        self.before += before + text
        return True

    def type(self, text):
        os.write(self.device, text.encode())

    def end(self):
        ended = wait_until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG
                                             | os.WNOWAIT) is not None)
        if not ended:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.device)
        return os.waitstatus_to_exitcode(status) if ended else "still running"


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-terminal-") as folder:
        env = environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db", TERM="xterm", PS1="% ")
        check_keyboard(tally, env)
        check_interrupt(tally, env)
        check_jobs(tally, env)
        check_neighbours(tally, env)
        check_note(tally, env)


IS_IN_FRONT = """import os, sys
print("front", os.tcgetpgrp(0) == os.getpgrp() == os.getpid(), flush=True)
print("read", input()[::-1], flush=True)"""


def check_keyboard(tally, env):
    there = Terminal([PROGRAM, "run", "a", sys.executable, "-c", IS_IN_FRONT], env)
    front = there.expect("front True")
    there.type("drawkcab\n")
    read = there.expect("read backward")
    tally.check("the command is in the foreground, and reads what is typed",
                (front, read, there.end()) == (True, True, 0), there.said)


def check_interrupt(tally, env):
    for script, expected in [("echo ready; exec sleep 100", 130),
                             ("trap 'echo heard; exit 4' INT; echo ready; while :; do sleep 0.02; "
                              "done", 4)]:
        there = Terminal([PROGRAM, "run", "a", "bash", "-c", script], env)
        there.expect("ready")
        there.type("\x03")
        code = there.end()
        tally.check(f"Ctrl-C reaches the command once, and its code {expected} comes back",
                    code == expected and there.said.count("heard") <= 1, f"{code} {there.said}")
    holder = Running("a", HOLDS, env)
    holder.line()
    there = Terminal([PROGRAM, "run", "-v", "a", "true"], env)
    there.expect("asks for")
    there.type("\x03")
    code = there.end()
    tally.check("Ctrl-C ends a wait", code == -signal.SIGINT, f"exit code {code}")
    holder.send(signal.SIGTERM)
    holder.end()


def check_jobs(tally, env):
    """An interactive shell with job control, as at every prompt."""
    there = Terminal(["bash", "--norc", "-i"], {**env, "CROSSLOCK_LEASE": "2s"})
    there.expect("% ")
    there.type("set -b\n")  # to be told at once of what becomes of a job
    there.type(f"{PROGRAM} run a -- sh -c 'echo be\"\"gun; exec sleep 100'\n")
    there.expect("begun")
    there.type("\x1a")
    stopped = there.expect("Stopped")
    there.expect("% ")
    there.type("fg\n")
    there.expect("run a")
    # The shell names the job before it hands the keyboard over: until then Ctrl-C is its own.
    wait_until(lambda: os.tcgetpgrp(there.device) != there.pid)
    there.type("\x03")
    there.type("echo code=$?.\n")
    tally.check("Ctrl-Z stops the job, fg goes on with it, and Ctrl-C ends it",
                stopped and there.expect("code=130."), there.said)

    there.type(f"{PROGRAM} run a -- sh -c 'read x; echo $x$x' &\n")
    there.expect("Stopped")  # it wants to read, and is not in the foreground
    there.type("fg\n")
    there.expect("run a")
    there.type("echo\n")
    tally.check("a job in the background that is brought to the front gets what is typed",
                there.expect("echoecho"), there.said)

    there.type(f"{PROGRAM} run a -- sh -c 'echo be\"\"gun; exec sleep 100'\n")
    there.expect("begun")
    there.type("\x1a")
    there.expect("Stopped")
    there.type(f"{PROGRAM} run a echo next$((1+1))\n")
    gets_in = there.expect("next2")
    there.type("fg\n")
    there.type("echo code=$?.\n")
    tally.check("a job that is stopped for longer than its lease loses the lock, and is told",
                gets_in and there.expect("was lost") and there.expect("code=79."), there.said)
    there.type("exit\n")
    there.end()


ASKS = """import sys
print("asks", flush=True)
print("typed", open("/dev/tty").readline()[::-1].strip(), sys.stdin.read().strip(), flush=True)"""


def check_neighbours(tally, env):
    """Those who share the terminal, and the group, with a run."""
    there = Terminal(["bash", "--norc", "-i"], env)
    there.expect("% ")
    there.type("set -b\n")
    there.type(f"{PROGRAM} run a echo piped | {sys.executable} -c '{ASKS}'\n")
    there.expect("asks\r\n")
    there.type("drawkcab\n")
    tally.check("what a run is piped into can ask the keyboard",
                there.expect("typed backward piped"), there.said)

    there.type(f"{PROGRAM} run a -- sh -c 'echo be\"\"gun; exec sleep 100'\n")
    there.expect("begun")
    run = next(iter(children_of(there.pid)))
    os.kill(run, signal.SIGSTOP)
    there.expect("Stopped")
    there.type("bg\n")
    there.expect("&")
    os.kill(run, signal.SIGTERM)
    ended = there.expect("Exit 143")
    there.type("echo alive$((1+1))\n")
    tally.check("a run that ends in the background leaves the terminal to the shell",
                ended and there.expect("alive2"), there.said)

    there.type("stty tostop\n")
    there.type(f"{PROGRAM} run -v a true; echo code=$?.\n")
    tally.check("a run may speak while its command is in the foreground, whatever stty says",
                there.expect("code=0."), there.said)
    there.type("stty -tostop\n")

    twice = f"for i in 1 2; do {PROGRAM} run a -- sh -c 'echo be\"\"gun; exec sleep 100'; done"
    there.type(f"{twice}\n")
    there.expect("begun")
    there.type("\x03")
    there.type("echo code=$?.\n")
    tally.check("Ctrl-C ends a loop of the shell", there.expect("code=130."), there.said)
    script = f"for i in 1 2; do {PROGRAM} run a -- sh -c \"echo be\\gun; exec sleep 100\"; done"
    there.type(f"bash -c '{script}'\n")
    there.expect("begun")
    there.type("\x03")
    there.type("echo code=$?.\n")
    tally.check("... and a script", there.expect("code=130."), there.said)
    there.type("exit\n")
    there.end()


def check_note(tally, env):
    holder = Running("kept", HOLDS, env, flags=["--owner", "the cat"])
    holder.line()
    both = [Terminal([PROGRAM, "run", "kept", "true"], {**env, **extra})
            for extra in ({}, {"NO_COLOR": "1"})]
    told = [there.expect("waiting for 'kept', held by ") and there.expect("(the cat) for ")
            for there in both]
    tally.check("after a while a person is told who is in the way", told == [True, True],
                both[0].said)
    tally.check("colours are used, and not with NO_COLOR",
                ["\x1b[33m" in there.before for there in both] == [True, False])
    for there in both:
        there.type("\x03")
        there.end()
    holder.send(signal.SIGTERM)
    holder.end()
