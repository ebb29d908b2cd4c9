"""`crosslock run` among others: what the lock is worth between processes, and when it is lost. On
the embedded engine, which needs no server."""

import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

from running import HOLDS, PROGRAM, WAITS, Running, children_of, is_alive, once, wait_until
from tally import environment


def check(tally):
    with tempfile.TemporaryDirectory() as folder:
        check_embedded(tally, Path(folder))
    check_loss(tally)
    check_places(tally)


def in_line(folder, name):
    """How many wait for a name that is held; None when it is not. By the view that the engine's
    page promises."""
    with sqlite3.connect(f"file:{folder}/crosslock/locks.db?mode=ro", uri=True) as database:
        row = database.execute("SELECT line FROM held WHERE name = ?", [name]).fetchone()
    return row[0] if row else None


def check_embedded(tally, folder):
    env = environment(XDG_STATE_HOME=str(folder))
    both = [Running("first", "echo ran", env) for _ in range(2)]
    answers = [each.end() for each in both]
    tally.check("two first runs at once both find, or make, the database",
                answers == [(0, "ran\n", "")] * 2, str(answers))
    check_exclusion(tally, folder, env)
    check_waiting_ends(tally, folder, env)

    fences = [int(once("fence", "bash", "-c", "echo $CROSSLOCK_FENCE", env=env)[1] or 0)
              for _ in range(5)]
    tally.check("fences rise from run to run",
                fences == sorted(set(fences)) and fences[0] > 0, str(fences))
    engine = once("a", "bash", "-c", "echo $CROSSLOCK_ENGINE", env=env)[1]
    tally.check("the embedded engine is sqlite", engine == "sqlite\n", engine)


def check_exclusion(tally, folder, env):
    counter = folder / "counter"
    counter.write_text("0")
    # Reading and writing apart, with a pause between: any overlap loses a count.
    script = f"n=$(<{counter}); sleep 0.01; echo $((n+1)) >{counter}"
    crowd = [Running("count", script, env) for _ in range(12)]
    codes = [each.end()[0] for each in crowd]
    tally.check("runs of one name exclude each other across processes",
                codes == [0] * 12 and counter.read_text() == "12\n",
                f"{codes} {counter.read_text()}")

    holder = Running("apart", HOLDS, env)
    holder.line()
    code = once("elsewhere", "true", env=env)[0]
    tally.check("another name is not in the way", code == 0, f"exit code {code}")
    waiter = Running("apart", "date +%s%N", env)
    waits = wait_until(lambda: in_line(folder, "apart") == 1)
    ended = time.time_ns()
    holder.send(signal.SIGTERM)
    holder.end()
    code, out, err = waiter.end()
    took = (int(out or 0) - ended) / 1e9
    tally.check("a waiting run starts when the one before it ends",
                waits and code == 0 and took < 2, f"after {took:.3f} s, {code}, {err}")


def check_waiting_ends(tally, folder, env):
    holder = Running("busy", HOLDS, env)
    holder.line()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        waiter = Running("busy", "echo ran", env)
        waits = wait_until(lambda: in_line(folder, "busy") == 1)
        waiter.send(number)
        answer = waiter.end()
        tally.check(f"{number.name[3:]} ends a wait, as a signal does",
                    waits and answer == (-number, "", ""), str(answer))
        tally.check(f"... and nothing stays in line after {number.name[3:]}",
                    in_line(folder, "busy") == 0)
    if os.geteuid() == 0:
        check_first_process(tally, env)
    waiter = Running("busy", "echo ran", env,
                     preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lambda: in_line(folder, "busy") == 1)
    waiter.send(signal.SIGHUP)
    holder.send(signal.SIGTERM)
    tally.check("the holder was not disturbed", holder.end()[0] == 143)
    tally.check("HUP does not end a wait under nohup", waiter.end() == (0, "ran\n", ""))
    tally.check("nothing is held in the end", in_line(folder, "busy") is None)


def check_first_process(tally, env):
    """In a container it has number 1, and dies of no signal."""
    inside = subprocess.Popen(
        ["unshare", "-pf", "--mount-proc", "--kill-child", PROGRAM, "run", "-v", "busy", "true"],
        stderr=subprocess.PIPE, text=True, env=env)
    for line in inside.stderr:
        if "asks for" in line:
            break
    os.kill(children_of(inside.pid)[0], signal.SIGTERM)
    inside.communicate()
    tally.check("the first process of a container ends as if of the signal",
                inside.returncode == 143, f"exit code {inside.returncode}")


def check_loss(tally):
    with tempfile.TemporaryDirectory() as folder:
        env = environment(XDG_STATE_HOME=folder, CROSSLOCK_LEASE="3s")
        for script, killed in [("trap 'echo told; exit 0' TERM", False), ("trap '' TERM", True)]:
            check_loss_by_silence(tally, Path(folder), env, script, killed)
        gone = Running("gone", "trap 'echo told; exit 0' TERM" + WAITS, env)
        gone.line()
        with sqlite3.connect(f"{folder}/crosslock/locks.db") as database:
            database.execute("DELETE FROM locks WHERE name = 'gone'")
        code, out, err = gone.end()
        tally.check("a lock that somebody removed stops the command with TERM, exit code 79",
                    (code, out) == (79, "told\n") and "'gone' was lost" in err,
                    f"{code} {out}{err}")


def check_loss_by_silence(tally, folder, env, script, killed):
    """Somebody else keeps the database for longer than the lease: no renewal succeeds."""
    running = Running("silent", script + WAITS, env)
    running.line()
    begun = time.monotonic()
    database = sqlite3.connect(f"{folder}/crosslock/locks.db", isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    command = running.command()
    ended = wait_until(lambda: not is_alive(command))
    took = time.monotonic() - begun
    database.execute("ROLLBACK")
    database.close()
    code, out, err = running.end()
    what = "killed" if killed else "told to stop"
    tally.check(f"a command whose lock cannot be renewed is {what} before the lease ends",
                ended and took < 3 and code == 79 and (out == "" if killed else out == "told\n"),
                f"{code} after {took:.2f} s\n{out}{err}")


def check_places(tally):
    homeless = {k: v for k, v in environment().items() if k not in ("HOME", "XDG_STATE_HOME")}
    code, out, err = once("a", "echo", "ran", env=homeless)
    tally.check("without HOME and CROSSLOCK_URL: 78, and what to do",
                (code, out) == (78, "") and "CROSSLOCK_URL" in err, f"{code} {err}")
    with tempfile.TemporaryDirectory() as folder:
        code, out, _ = once("a", "echo", "ran", env={**homeless, "HOME": folder})
        made = Path(folder, ".local/state/crosslock/locks.db").exists()
        tally.check("with HOME alone the database is under .local/state",
                    (code, out, made) == (0, "ran\n", True), f"{code} {out}")
    check_read_only(tally)


def check_read_only(tally):
    with tempfile.TemporaryDirectory() as folder:
        sealed = Path(folder) / "sealed"
        sealed.mkdir(mode=0o555)
        os.chmod(folder, 0o755)
        # Root may write everywhere: then somebody else has to try.
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        code, out, err = once("a", "echo", "ran", env=environment(XDG_STATE_HOME=str(sealed)),
                              cwd="/", **user)
        tally.check("a state directory that cannot be written to: 77, and which",
                    (code, out) == (77, "") and str(sealed) in err, f"{code} {out}{err}")
