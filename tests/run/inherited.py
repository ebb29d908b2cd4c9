"""What a process inherits, and must not pass on: signals that are ignored or blocked. Under nohup
or in the background of a script, cases about signals would fail. And what it must not leave behind:
processes that it has started."""

import os
import signal
import sys

from tally import run

# Python ignores these for itself, and gives programs that it starts the default again.
OF_PYTHON = {signal.SIGPIPE, signal.SIGXFSZ}


def reset_signals():
    for number in signal.valid_signals() - OF_PYTHON:
        if signal.getsignal(number) == signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def end_with_children(number, _frame):
    """For SIGTERM: threads that wait for programs would go on until those have ended."""
    ended = {os.getpid()}
    found = True
    while found:
        found = {pid for pid, parent in parents() if parent in ended} - ended
        ended |= found
    for pid in ended - {os.getpid()}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(128 + number)


def parents():
    """(process, its parent) of all there are."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                yield int(name), int(stat.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass


def check(tally):
    """A run of ./test, with a suite that says what its programs inherit."""
    suite = """
import sys
sys.path.insert(0, "tests/run")
import main, subprocess
def look(tally):
    subprocess.run(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"])
main.plan = lambda *_: [main.Step("look", look)]
sys.argv = ["main.py"]
main.main()
"""

    def spoil():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM,
                       signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM])

    _, said = run([sys.executable, "-c", suite], 60, preexec_fn=spoil, restore_signals=False)
    none = "0" * 16
    tally.check("programs start with no signal ignored or blocked",
                f"SigBlk:\t{none}\nSigIgn:\t{none}\n" in said, said)
