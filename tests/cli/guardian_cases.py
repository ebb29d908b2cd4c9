"""What becomes of a command, and of everything it has started, when the program, its guardian or
its lock goes. On the embedded engine and on Redis, with leases of one second."""

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from doctor_cases import redis_server
from running import HOLDS, PATIENCE, Running, command_of, is_alive, once, wait_until
from tally import environment
from zookeeper_server import zookeeper_url

FAMILY = Path(__file__).parent / "family.py"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
           signal.SIGUSR2)


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-guardian-") as folder:
        env = environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db", CROSSLOCK_LEASE="1s")
        check_signals(tally, env)
        check_early_signal(tally, env)
        check_guardian_killed(tally, env)
        check_guardian_frozen(tally, env, folder)
        check_leftovers(tally, env)
        check_on_lost(tally, env, folder)
        check_ends(tally, env, "sqlite")
        with redis_server(folder) as url:
            check_ends(tally, environment(CROSSLOCK_URL=url, CROSSLOCK_LEASE="1s"), "redis")
        with zookeeper_url(folder) as url:
            check_ends(tally, environment(CROSSLOCK_URL=url, CROSSLOCK_LEASE="1s"), "zookeeper")


def family(name, env, how, flags=()):
    """A run, and the pids of the three processes of its command."""
    running = Running(name, "", env, flags=flags, words=[sys.executable, str(FAMILY), how])
    return running, [int(running.line()) for _ in range(3)]


def next_in_line(name, env, pids):
    """A run that says which of the others live when its turn has come."""
    listed = " ".join(str(pid) for pid in pids)
    return Running(name, f"for pid in {listed}; do read -r _ _ state _ 2>/dev/null </proc/$pid/stat"
                         " && [ $state != Z ] && echo $pid lives; done; echo in", env)


def check_signals(tally, env):
    for number in SIGNALS:
        running, _ = family("signals", env, "hear")
        running.send(number)
        code, out, err = running.end()
        short = number.name[3:]
        expected = [f"{role} {short}" for role in ("grandchild", "child", "parent")]
        tally.check(f"{short} reaches the command, its child and its grandchild",
                    (code, out.splitlines(), err) == (5, expected, ""), f"{code} {out}{err}")


def check_early_signal(tally, env):
    """A signal that is there when the lock comes: the run is held up between the two by a full
    pipe for what it tells."""
    status, ours = os.pipe()
    fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, 4096)
    os.write(ours, b"x" * 4000)
    running = Running("early", HOLDS, env, flags=["--status-fd", str(ours)], pass_fds=[ours])
    wait_until(lambda: once("-n", "early", "true", env=env)[0] == 75)
    running.send(signal.SIGTERM)
    os.close(ours)
    os.read(status, 4096)
    code = running.end()[0]
    tally.check("a signal from before the launch reaches the command", code == 143, f"{code}")
    os.close(status)


def check_ends(tally, env, engine):
    for how in ("killed", "frozen"):
        holder, pids = family(how, env, "deaf")
        later = next_in_line(how, env, pids)
        wait_until(lambda: command_of(later.guardian()) == "crosslock-guard")
        holder.send(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
        code, out, err = later.end()
        tally.check(f"{engine}: when the program is {how} the next one gets in, and nobody of the "
                    "group lives by then", (code, out) == (0, "in\n"), f"{code} {out}{err}")
        holder.send(signal.SIGCONT)
        code, _, err = holder.end()
        tally.check(f"{engine}: the program that was {how} ends as it must",
                    code == -9 if how == "killed" else code == 79 and "was lost" in err,
                    f"{code} {err}")
        tally.check(f"{engine}: nobody is left of what was {how}",
                    not any(is_alive(pid) for pid in pids))


def check_guardian_killed(tally, env):
    running, pids = family("unguarded", env, "deaf")
    os.kill(running.guardian(), signal.SIGKILL)
    code, _, err = running.end()
    tally.check("when the guardian is killed the program stops the whole group and says so",
                code == 70 and "guardian" in err and not any(is_alive(pid) for pid in pids),
                f"{code} {err}")
    tally.check("... and the lock is free", once("-w", "5", "unguarded", "true", env=env)[0] == 0)


def check_guardian_frozen(tally, env, folder):
    running, pids = family("frozen-guard", env, "deaf")
    os.kill(running.guardian(), signal.SIGSTOP)
    with sqlite3.connect(f"{folder}/locks.db") as database:
        database.execute("DELETE FROM locks WHERE name = 'frozen-guard'")
    code, _, err = running.end()
    tally.check("a guardian that is frozen does not keep a command alive whose lock is lost",
                code == 79 and not any(is_alive(pid) for pid in pids), f"{code} {err}")


# Its child forks once more, leaves the group, and never asks for that one's exit code.
LEAVES_A_ZOMBIE = """import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os._exit(0)
    os.setsid()
    os.closerange(0, 3)
    time.sleep(100)
os.write(1, str(os.getpid()).encode() + b"\\n")"""


def check_leftovers(tally, env):
    running = Running("zombie", "", env, words=[sys.executable, "-c", LEAVES_A_ZOMBIE])
    running.line()
    code, _, err = running.end()
    tally.check("a zombie that nobody asks for keeps no lock", (code, err) == (0, ""),
                f"{code} {err}")
    subprocess.run(["pkill", "-f", "os.closerange.0, 3"], check=False)
    reader, writer = os.pipe()
    script = f"bash -c 'echo begun; read -u {reader}; echo ended' & exit 6"
    running = Running("left", script, env, pass_fds=[reader])
    os.close(reader)
    begun = running.line()
    busy = once("-n", "left", "true", env=env)[0]
    os.close(writer)
    code, out, _ = running.end()
    tally.check("what the command has left in its group keeps the lock, and the code is the "
                "command's", (begun, busy, code, out) == ("begun", 75, 6, "ended\n"),
                f"{begun} {busy} {code} {out}")

    running = Running("away", "setsid sleep 100 >/dev/null 2>&1 & echo $!", env)
    away = int(running.line())
    code = running.end()[0]
    tally.check("what has left the group is not waited for", code == 0 and is_alive(away),
                f"exit code {code}")
    os.kill(away, signal.SIGKILL)


HEARS_OF_LOSS = """import os, select, signal, sys
heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
fd = int(os.environ["CROSSLOCK_LOST_FD"])
print("begun", flush=True)
select.select([fd], [], [], %d)
print("lost", flush=True)
print(signal.sigtimedwait({signal.SIGTERM, signal.SIGUSR1}, 1.5 if "ignore" in sys.argv else 5),
      flush=True)""" % PATIENCE


def check_on_lost(tally, env, folder):
    words = [sys.executable, "-c", HEARS_OF_LOSS]
    for flag, signal_heard, killed in [("term", "SIGTERM", False), ("USR1", "SIGUSR1", False),
                                       ("ignore", "None", False), ("kill", "", True)]:
        before = os.times().children_user
        running = Running("told", "", env, flags=["--on-lost", flag], words=[*words, flag])
        running.line()
        with sqlite3.connect(f"{folder}/locks.db") as database:
            database.execute("DELETE FROM locks WHERE name = 'told'")
        code, out, err = running.end()
        heard = signal_name(out)
        spent = os.times().children_user - before
        tally.check(f"--on-lost {flag}: nobody is kept busy meanwhile", spent < 0.5, f"{spent} s")
        tally.check(f"--on-lost {flag}: what the command hears, and the code is 79",
                    code == 79 and (killed or (heard == signal_heard and "lost" in out)),
                    f"{code} {out}{err}")


def signal_name(out):
    number = [int(word[len("si_signo="):].rstrip(",)")) for word in out.replace("(", " ").split()
              if word.startswith("si_signo=")]
    return signal.Signals(number[0]).name if number else "None"
