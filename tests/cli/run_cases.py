"""`crosslock run`: what comes back from the command, what reaches it, and what a lock is worth
between processes. Nothing here needs a server: `memory:` where one process is enough, the embedded
engine where several meet."""

import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tally import ROOT, environment

PROGRAM = ROOT / "build" / "release" / "cli" / "crosslock"
PATIENCE = 20  # how long anything may take on a busy machine


def check(tally):
    check_words(tally)
    check_exit_codes(tally)
    check_surroundings(tally)
    check_signals(tally)
    check_terminal(tally)
    with tempfile.TemporaryDirectory() as folder:
        check_embedded(tally, Path(folder))
    check_loss(tally)
    check_places(tally)
    check_manual(tally)


def once(*words, env=None, **options):
    """(exit code, stdout, stderr) of one run."""
    done = subprocess.run([PROGRAM, "run", *words], capture_output=True, text=True,
                          timeout=PATIENCE, env=env or environment(CROSSLOCK_URL="memory:"),
                          stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stdout, done.stderr


class Running:
    """A run in the background, in a session of its own, whose command prints lines."""

    def __init__(self, name, script, env=None, **options):
        self.process = subprocess.Popen(
            [PROGRAM, "run", name, "--", "bash", "-c", script], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, start_new_session=True,
            env=env or environment(CROSSLOCK_URL="memory:"), **options)

    def line(self):
        """What the command says next; empty when it says nothing in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        return self.process.stdout.readline().strip() if ready else ""

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        """(exit code, the rest of stdout, stderr)"""
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
            return self.process.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            return "still running", *self.process.communicate()


# For a bash with traps: it looks at them every so often.
WAITS = "; echo started; while :; do sleep 0.02; done"
HOLDS = "echo started; exec sleep 100"


def check_words(tally):
    show = ["printf", "%s|"]
    for words, expected in [
            (["a", *show, "-n", "--help"], "-n|--help|"),
            (["a", "--", *show, "--version", "-x"], "--version|-x|"),
            (["a", *show, "x", "--", "y"], "x|--|y|"),
            (["a", "--", *show, "--", "y"], "--|y|"),
            (["--", "-a", *show, "z"], "z|"),
            (["--", "a", "--", *show, "z"], "z|"),
            (["run", *show, "engines", "run"], "engines|run|"),
            (["engines", *show, "[a,b]", "", "a b", "'\"$x"], "[a,b]||a b|'\"$x|")]:
        answer = once(*words)
        tally.check(f"run {words} leaves the words alone", answer == (0, expected, ""), str(answer))
    for words in ([], ["a"], ["a", "--"], ["--"], ["--no-such-option", "a", "true"],
                  ["a", "--no-such-option", "true"], ["", "true"], ["a\nb", "true"],
                  ["x" * 513, "true"]):
        code, out, err = once(*words)
        tally.check(f"run {[word[:20] for word in words]} is a usage error",
                    code == 64 and out == "" and err.startswith("crosslock: "), f"{code}\n{err}")
    code, out, _ = once("--help")
    tally.check("run --help says what is not promised",
                code == 0 and "NAME [--] COMMAND" in out and "kill -9" in out, out)


def check_exit_codes(tally):
    for script, expected in [("exit 0", 0), ("exit 7", 7), ("exit 255", 255),
                             ("kill -KILL $$", 137), ("kill -TERM $$", 143)]:
        code = once("a", "--", "bash", "-c", script)[0]
        tally.check(f"'{script}' gives {expected}", code == expected, f"exit code {code}")

    code, _, err = once("a", "no-such-command-anywhere")
    tally.check("a command that is not there is 127, by name",
                code == 127 and "cannot run 'no-such-command-anywhere'" in err, f"{code} {err}")
    for file in ("/etc/passwd", "/"):
        code, _, err = once("a", file)
        tally.check(f"{file} cannot be executed: 126, by name",
                    code == 126 and f"cannot run '{file}'" in err, f"{code} {err}")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "no-interpreter-named"
        script.write_text("exit 9\n")
        script.chmod(0o755)
        tally.check("a script without #! runs as everywhere", once("a", script)[0] == 9)

    for url, expected in [("nothing://x", 78), ("memory://host", 78), ("memory:?lease=0s", 64)]:
        code, out, err = once("a", "echo", "ran", env=environment(CROSSLOCK_URL=url))
        tally.check(f"{url} is refused with {expected} and nothing is run",
                    (code, out) == (expected, "") and err.startswith("crosslock: "),
                    f"{code}\n{out}{err}")


def check_surroundings(tally):
    script = 'echo "$CROSSLOCK_NAME/$CROSSLOCK_ENGINE/$CROSSLOCK_FENCE/$CROSSLOCK_OWNER_ID/$KEPT"'
    stale = environment(CROSSLOCK_URL="memory:", CROSSLOCK_NAME="old", CROSSLOCK_FENCE="1",
                        CROSSLOCK_PREFIX="shop/", KEPT="yes")
    code, out, _ = once("stock", "bash", "-c", script, env=stale)
    name, engine, fence, owner, kept = (out.strip().split("/") + [""] * 5)[:5]
    tally.check("the command knows its lock",
                (code, name, engine, kept) == (0, "stock", "memory", "yes") and int(fence) > 1
                and len(owner) == 32, out)

    blocked = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1}

    def start_badly():  # as a careless parent does
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    code, out, _ = once("a", "bash", "-c", "cat /proc/self/status; exit 5", preexec_fn=start_badly)
    masks = {line.split()[0]: int(line.split()[1], 16) for line in out.splitlines()
             if line.startswith("Sig") and not line.startswith("SigQ")}
    tally.check("no signal is blocked in the command", masks.get("SigBlk:") == 0, out)
    tally.check("what was ignored before us (nohup) stays ignored, and nothing else",
                masks.get("SigIgn:") == 1 << (signal.SIGHUP - 1), out)
    tally.check("an exit code survives a parent that ignores CHLD", code == 5, f"exit code {code}")

    code, out, _ = once("a", sys.executable, "-c", "import os; print(os.listdir('/proc/self/fd'))")
    tally.check("the command inherits standard streams and nothing of ours",
                code == 0 and out.strip() == "['0', '1', '2', '3']", out)

    done = subprocess.run([PROGRAM, "run", "a", "cat"], input="through\n", capture_output=True,
                          text=True, timeout=PATIENCE, env=environment(CROSSLOCK_URL="memory:"))
    tally.check("standard input reaches the command",
                (done.returncode, done.stdout) == (0, "through\n"), done.stderr)
    closed = subprocess.run(
        ["bash", "-c", f"exec <&- >&- 2>&-; exec {PROGRAM} run a -- bash -c '"
         "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && exit 9; done; exit 4'"],
        timeout=PATIENCE, env=environment(CROSSLOCK_URL="memory:"))
    tally.check("streams that are closed stay closed", closed.returncode == 4,
                f"exit code {closed.returncode}")


def check_signals(tally):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                   signal.SIGUSR2):
        short = number.name[3:]
        running = Running("a", f"trap 'echo got; exit 5' {short}" + WAITS)
        running.line()
        running.send(number)
        answer = running.end()
        tally.check(f"{short} is passed on and the command decides", answer == (5, "got\n", ""),
                    str(answer))
    running = Running("a", "exec sleep 100")
    wait_until(lambda: command_of(children_of(running.process.pid)) == "sleep")
    running.send(signal.SIGTERM)
    tally.check("a command killed by a signal is 128 + n", running.end()[0] == 143)

    running = Running("a", "echo $$; exec sleep 100")
    left = int(running.line())
    running.send(signal.SIGKILL)
    running.process.wait()
    tally.check("kill -9 of the program itself leaves the command running (as documented)",
                Path(f"/proc/{left}").exists())
    os.kill(left, signal.SIGKILL)
    running.process.communicate()


def check_terminal(tally):
    """Ctrl-C goes to the whole foreground group: the command must hear it once, not twice."""
    script = """if True:
        import os, signal, time
        heard, told = os.pipe()
        os.set_blocking(told, False)
        signal.set_wakeup_fd(told)  # a byte for each, even if they come close together
        signal.signal(signal.SIGINT, lambda *_: None)
        print("started", flush=True)
        os.read(heard, 1)
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)
        os._exit(len(os.read(heard, 100)))"""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [str(PROGRAM), "run", "a", "--", sys.executable, "-c", script],
                  environment(CROSSLOCK_URL="memory:"))
    said = b""
    while b"started" not in said:
        said += os.read(terminal, 100)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    tally.check("Ctrl-C reaches the command once", os.waitstatus_to_exitcode(status) == 1,
                f"status {status}, {said}")


def children_of(pid):
    try:
        return [int(one) for one in
                Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_of(pids):
    try:
        return Path(f"/proc/{pids[0]}/comm").read_text().strip()
    except (OSError, IndexError):
        return ""


def wait_until(question):
    end = time.monotonic() + PATIENCE
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


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

    killed = Running("killed", "echo $$; exec sleep 100", env)
    left = int(killed.line())
    killed.process.kill()
    killed.process.wait()
    begun = time.monotonic()
    code = once("killed", "true", env=env)[0]
    took = time.monotonic() - begun
    os.kill(left, signal.SIGKILL)
    killed.process.communicate()
    tally.check("after kill -9 of a holder the next is in long before the lease ends",
                code == 0 and took < 5, f"exit code {code} after {took:.2f} s")


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
    holder.send(signal.SIGTERM)
    tally.check("the holder was not disturbed", holder.end()[0] == 143)
    tally.check("nothing is held in the end", in_line(folder, "busy") is None)


def check_loss(tally):
    env = environment(CROSSLOCK_URL="memory:", CROSSLOCK_LEASE="1s")
    frozen = Running("a", "trap '' TERM" + WAITS, env)
    frozen.line()
    frozen.send(signal.SIGSTOP)
    time.sleep(1.2)  # past the lease: there is nobody to be told by
    frozen.send(signal.SIGCONT)
    code, _, err = frozen.end()
    tally.check("frozen past its lease it kills the command and exits with 79",
                code == 79 and "'a' was lost" in err, f"{code} {err}")

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
    command = children_of(running.process.pid)[0]
    ended = wait_until(lambda: not is_alive(command))
    took = time.monotonic() - begun
    database.execute("ROLLBACK")
    database.close()
    code, out, err = running.end()
    what = "killed" if killed else "told to stop"
    tally.check(f"a command whose lock cannot be renewed is {what} before the lease ends",
                ended and took < 3 and code == 79 and (out == "" if killed else out == "told\n"),
                f"{code} after {took:.2f} s\n{out}{err}")


def is_alive(pid):
    """Also false for one that has ended and was not waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


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


def check_manual(tally):
    page = ROOT / "docs/man/crosslock.1"
    text = page.read_text()
    said = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
    commands = [line.split()[0] for line in said.split("Subcommands:")[1].splitlines() if line]
    tally.check("--help lists commands", "run" in commands and "engines" in commands, said)
    for command in commands:
        tally.check(f"the manual has {command}", f'crosslock {command}' in text.replace("\\", ""))
    for code in (64, 69, 70, 75, 77, 78, 79, 126, 127):
        tally.check(f"the manual explains exit code {code}", f".B {code}\n" in text)
