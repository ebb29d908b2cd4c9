"""Two lanes of one run. In front: what waits for leases and servers and measures how soon something
is seen. Behind: what computes, compilers above all, in the time that the front leaves over. The
kernel lets whoever is in front go first at any moment, so that no lease is lost to a compiler."""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable

from tally import Tally


_behind = None  # of this run, if it has two lanes


@dataclass
class Step:
    title: str
    work: Callable  # of a tally
    behind: bool = False


def run_step(step):
    print(f"== {step.title}", flush=True)
    tally, before = Tally(step.title), cpu_of_children()
    try:
        step.work(tally)
    except Exception:  # the other suites have something to say all the same
        tally.check("it ended by an exception", False, traceback.format_exc())
    print(f"== {step.title}: {tally.counts()}, {tally.seconds():.1f} s, "
          f"{cpu_of_children() - before:.0f} s of CPU", flush=True)
    return tally


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_steps(steps):
    """Returns the sum of what they counted."""
    total = Tally("all")
    front = [step for step in steps if not step.behind]
    behind = [step for step in steps if step.behind]
    if not front or not behind:
        for step in steps:
            total.add(run_step(step))
        return total
    global _behind
    lane = _behind = Behind(behind)
    try:
        for step in front:
            total.add(run_step(step))
            lane.tell(total)
        lane.finish(total)
    finally:
        lane.kill()
        _behind = None
    return total


@contextmanager
def alone():
    """Nothing is done behind meanwhile: for what tells how soon something is seen. Nothing may be
    built within, for somebody behind may be at it."""
    if _behind is None or _behind.process is None:
        yield
        return
    os.killpg(_behind.process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.killpg(_behind.process, signal.SIGCONT)


class Behind:
    """A process that runs steps one by one with the time that others leave over. What it prints is
    shown step by step, so that it does not get in between the lines of others."""

    def __init__(self, steps):
        self.expected = len(steps)
        self.reports, writing = os.pipe()
        self.unread = b""
        self.output = tempfile.TemporaryFile("w+")
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.reports)
            self._run(steps, writing)
        os.close(writing)
        os.setpgid(self.process, self.process)  # to be killed as a whole; whoever is first does it
        os.set_blocking(self.reports, False)

    def _run(self, steps, writing):
        # Whatever it starts is as modest as it is.
        code = 1
        try:
            os.setpgid(0, 0)
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            os.dup2(self.output.fileno(), 1)
            os.dup2(self.output.fileno(), 2)
            for step in steps:
                begin = os.lseek(1, 0, os.SEEK_CUR)
                tally = run_step(step)
                report = {"from": begin, "to": os.lseek(1, 0, os.SEEK_CUR), **vars(tally)}
                os.write(writing, json.dumps(report).encode() + b"\n")
            code = 0
        except SystemExit:
            pass  # what failed to build was said
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def tell(self, total):
        """Shows and counts what has ended meanwhile."""
        try:
            while more := os.read(self.reports, 1 << 16):
                self.unread += more
        except BlockingIOError:
            pass
        *lines, self.unread = self.unread.split(b"\n")
        for report in map(json.loads, lines):
            self._show(report["from"], report["to"] - report["from"])
            for count in ("passed", "failed", "skipped"):
                setattr(total, count, getattr(total, count) + report[count])
            self.expected -= 1

    def _show(self, begin, size):
        text = os.pread(self.output.fileno(), size, begin)
        print(text.decode(errors="replace"), end="", flush=True)
        self.shown = begin + size

    def finish(self, total):
        """Waits for the rest. Whoever did not report has failed."""
        while os.waitpid(self.process, os.WNOHANG)[0] == 0:
            self.tell(total)
            time.sleep(0.2)
        self.process = None
        self.tell(total)
        if self.expected:
            end = os.fstat(self.output.fileno()).st_size
            self._show(getattr(self, "shown", 0), end)
            total.check("the lane behind ran all of its steps", False)

    def kill(self):
        if self.process is not None:
            os.killpg(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = None
