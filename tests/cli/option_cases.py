"""The options of `crosslock run`: how it waits, with whom it shares, what it tells, and every exit
code that is the program's own."""

import json
import os
import signal
import socket
import tempfile
import time

from doctor_cases import redis_server
from running import HOLDS, Running, once
from tally import environment


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-options-") as folder:
        env = environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db")
        check_busy(tally, env)
        check_free(tally, env)
        check_modes(tally, env)
        check_shell(tally, env)
        check_min_hold(tally, env)
        check_status(tally, env)
        check_kill_after(tally, env)
        check_refusals(tally, env)
        with redis_server(folder, "--requirepass", "qzwx") as url:
            code, out, err = once("--url", f"{url}?password=no", "a", "echo", "ran", env=env)
            tally.check("a server that denies access is 77", (code, out) == (77, "")
                        and "?password=no" not in err, f"{code} {err}")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        code, out, err = once("--url", url, "a", "echo", "ran", env=env)
        tally.check("a server that cannot be reached is 69, by its address",
                    (code, out) == (69, "") and url.split("/")[2] in err, f"{code} {err}")


def check_busy(tally, env):
    holder = Running("busy", HOLDS, env, flags=["--owner", "the cat", "--meta", "build=7"])
    holder.line()
    for flags, expected in [(["-n"], 75), (["--no-wait"], 75), (["-w", "0"], 75),
                            (["--wait", "0.05"], 75), (["--timeout", "50ms"], 75),
                            (["-n", "-E", "3"], 3), (["-w0", "--conflict-exit-code", "0"], 0),
                            (["-n", "--busy-ok"], 0), (["-n", "-s"], 75)]:
        code, out, err = once(*flags, "busy", "echo", "ran", env=env)
        tally.check(f"{flags} on a busy lock is {expected}, and nothing is run",
                    (code, out) == (expected, ""), f"{code} {out}{err}")
        told = "'busy' is busy: held by " in err and "(the cat; build=7) for " in err
        tally.check(f"{flags}: it says who has it, unless that is fine",
                    err == "" if expected == 0 else told, err)
    holder.send(signal.SIGTERM)
    holder.end()


def check_free(tally, env):
    codes = [once("-n", f"free-{number}", "true", env=env)[0] for number in range(40)]
    tally.check("-n takes a lock that is free, every time", codes == [0] * 40, str(codes))


def check_modes(tally, env):
    holder = Running("shared", HOLDS, env, flags=["-s"])
    holder.line()
    tally.check("-s shares with -s", once("-n", "-s", "shared", "true", env=env)[0] == 0)
    tally.check("-x, the default, does not",
                [once("-n", *flag, "shared", "true", env=env)[0] for flag in ([], ["-x"])]
                == [75, 75])
    holder.send(signal.SIGTERM)
    holder.end()
    holders = [Running("permits", HOLDS, env, flags=["--permits", "2"]) for _ in range(2)]
    for holder in holders:
        holder.line()
    tally.check("--permits 2 lets two in, and no third",
                once("-n", "--permits", "2", "permits", "true", env=env)[0] == 75)
    code, _, err = once("-n", "--permits", "3", "permits", "true", env=env)
    tally.check("another number of permits is 78, and both are named",
                code == 78 and "2" in err and "3" in err, f"{code} {err}")
    for holder in holders:
        holder.send(signal.SIGTERM)
        holder.end()


def check_shell(tally, env):
    for words in (["-c", "echo $((6*7)); exit 3", "a"], ["a", "-c", "echo $((6*7)); exit 3"]):
        answer = once(*words, env=env)
        tally.check(f"run {words[:2]}... goes through a shell", answer == (3, "42\n", ""),
                    str(answer))
    answer = once("a", "echo", "$HOME", "*", env=env)
    tally.check("without -c there is no shell", answer == (0, "$HOME *\n", ""), str(answer))


def check_min_hold(tally, env):
    first = Running("nightly", "echo ran", env, flags=["--min-hold", "1.5"])
    first.line()
    begun = time.monotonic()
    code, _, _ = once("-n", "nightly", "echo", "again", env=env)
    tally.check("--min-hold keeps the lock although the command has ended", code == 75,
                f"exit code {code}")
    code = once("-w", "10", "nightly", "true", env=env)[0]
    took = time.monotonic() - begun
    tally.check("... for so long, and no longer", code == 0 and 1 < took < 5 and
                first.end()[0] == 0, f"exit code {code} after {took:.2f} s")
    first = Running("nightly", "echo ran; exit 4", env, flags=["--min-hold", "1h"])
    first.line()
    time.sleep(0.05)  # whether the signal finds the command or the wait behind it, it ends both
    first.send(signal.SIGTERM)
    code = first.end()[0]
    tally.check("a signal ends it early", code in (4, 143), f"exit code {code}")


def status_of(words, env):
    """(exit code, the lines of JSON written to the status descriptor)"""
    reader, writer = os.pipe()
    code = once("--status-fd", str(writer), *words, env=env, pass_fds=[writer])[0]
    os.close(writer)
    with open(reader) as lines:
        return code, [json.loads(line) for line in lines]


def check_status(tally, env):
    code, events = status_of(["told", "bash", "-c", "exit 3"], env)
    names = [event["event"] for event in events]
    tally.check("--status-fd tells the story in lines of JSON",
                code == 3 and names == ["waiting", "acquired", "started", "ended", "released"],
                str(events))
    acquired = events[1]
    tally.check("... with the facts of the lock, the fence as a string",
                {"name", "fence", "owner_id", "engine", "mode", "lease_ms"} <= set(acquired)
                and isinstance(acquired["fence"], str) and acquired["lease_ms"] == 30000,
                str(acquired))
    code, out, err = once("-v", "told", "echo", "ran", env=env)
    tally.check("-v says where the locks are and what happens",
                (code, out) == (0, "ran\n") and env["CROSSLOCK_URL"] in err
                and "CROSSLOCK_URL" in err and "fence" in err, err)
    code, out, _ = once("--status-fd", "1", "told", "echo", "ran", env=env)
    tally.check("a stream of the command may be that descriptor, and stays open for it",
                code == 0 and "\nran\n" in out, f"{code} {out}")
    code, _, err = once("--status-fd", "77", "told", "true", env=env)
    tally.check("a descriptor that is not open is a usage error, by its number",
                code == 64 and "77" in err, f"{code} {err}")


def check_kill_after(tally, env):
    code, out, err = once("--lease", "9s", "--kill-after", "3.1s", "a", "echo", "ran", env=env)
    tally.check("--kill-after of more than a third of the lease is a usage error, with both",
                (code, out) == (64, "") and "3.1s" in err and "9.0s" in err, f"{code} {err}")
    code, out, _ = once("--lease", "9s", "--kill-after", "3s", "a", "echo", "ran", env=env)
    tally.check("a third of it is not", (code, out) == (0, "ran\n"), f"{code}")


def check_refusals(tally, env):
    for words in (["-n", "-w", "3"], ["-s", "-x"], ["-s", "--permits", "2"], ["--permits", "0"],
                  ["--permits", "x"], ["-w", "soon"], ["-w", "-1"], ["--lease", "1y"],
                  ["-E", "256"], ["--conflict-exit-code", "3", "--busy-ok"], ["--on-lost", "wink"],
                  ["--min-hold", ""], ["--meta", "novalue"], ["--kill-after", "x"],
                  ["--lease", "0"]):
        code, out, err = once(*words, "a", "echo", "ran", env=env)
        tally.check(f"run {words} is a usage error that names the option",
                    (code, out) == (64, "") and err.startswith("crosslock: ")
                    and words[0].lstrip("-") in err, f"{code} {out}{err}")
    code, out, err = once("-c", "echo x", "a", "true", env=env)
    tally.check("-c and a command is one too many", (code, out) == (64, ""), f"{code} {err}")
    code, out, err = once("a", "echo", "ran", env={**env, "CROSSLOCK_URL": "redlock://h1,h2,h3"})
    tally.check("an engine that is not there yet is 78", (code, out) == (78, ""), f"{code} {err}")
