"""`crosslock run` by itself: what comes back from the command, and what reaches it. One process is
enough here, so the locks are in `memory:`."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from running import PATIENCE, PROGRAM, WAITS, Running, command_of, once, wait_until
from tally import ROOT, environment


def check(tally):
    check_words(tally)
    check_exit_codes(tally)
    check_surroundings(tally)
    check_closed_streams(tally)
    check_signals(tally)
    check_manual(tally)


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
    tally.check("run --help says how it is called and what becomes of a loss",
                code == 0 and "NAME [--] COMMAND" in out and "79" in out, out)


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

    look = "import os; print({*os.listdir('/proc/self/fd')} - {os.environ['CROSSLOCK_LOST_FD']})"
    code, out, _ = once("a", sys.executable, "-c", look)
    tally.check("the command inherits standard streams, CROSSLOCK_LOST_FD, and nothing of ours",
                code == 0 and len(eval(out)) == 4, out)

    everything = bytes(range(256)) * 4096
    done = subprocess.run([PROGRAM, "run", "a", "cat"], input=everything, capture_output=True,
                          timeout=PATIENCE, env=environment(CROSSLOCK_URL="memory:"))
    tally.check("binary standard input reaches the command as it is, and its output comes back",
                (done.returncode, done.stdout) == (0, everything), done.stderr.decode())


def check_closed_streams(tally):
    """Their numbers must not go to files or sockets of ours: a complaint would end up there."""
    script = ("wrapper=$(cut -d\" \" -f4 /proc/$PPID/stat 2>/dev/null); "
              "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && exit 9; "
              "[ /proc/$wrapper/fd/$fd -ef /dev/null ] || exit 8; done; exit 4")
    closed = subprocess.run(
        ["bash", "-c", f"exec <&- >&- 2>&-; exec {PROGRAM} run a -- bash -c '{script}'"],
        timeout=PATIENCE, env=environment(CROSSLOCK_URL="memory:"))
    tally.check("streams that are closed stay closed, and free", closed.returncode == 4,
                f"exit code {closed.returncode}")


def check_signals(tally):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                   signal.SIGUSR2):
        short = number.name[3:]
        running = Running("a", f"trap 'echo got; exit 5' {short}" + WAITS)
        running.line()
        running.send(number)
        answer = running.end()
        # On stderr a shell may say what became of the sleep it has started.
        tally.check(f"{short} is passed on and the command decides", answer[:2] == (5, "got\n"),
                    str(answer))
    running = Running("a", "exec sleep 100")
    wait_until(lambda: command_of(running.command()) == "sleep")
    running.send(signal.SIGTERM)
    tally.check("a command killed by a signal is 128 + n", running.end()[0] == 143)


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
