"""`crosslock hold`: what it says, what ends it, and that it notices when the lock is lost. On the
embedded engine and on servers of our own."""

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import tempfile

from doctor_cases import redis_server
from receipt_cases import crosslock, in_line, is_free
from running import PATIENCE, PROGRAM, wait_until
from tally import environment
from zookeeper_server import delete_claims, zookeeper_url


class Holding:
    """A hold in the background, at the other end of two pipes."""

    def __init__(self, *words, env, **options):
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen([PROGRAM, "hold", *words], stderr=subprocess.PIPE,
                                        text=True, env=env, start_new_session=True, **options)

    def line(self):
        """The object it prints next; empty when it prints none in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        text = self.process.stdout.readline() if ready else ""
        return json.loads(text) if text else {}

    def end(self):
        """(exit code, the rest of stdout, stderr) without closing its standard input."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        code = self.process.wait()
        out = self.process.stdout.read() if self.process.stdout else ""
        err = self.process.stderr.read()
        for each in (self.process.stdin, self.process.stdout, self.process.stderr):
            if each:
                each.close()
        return code, out, err


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-hold-") as folder:
        check_on(tally, "sqlite", environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db"))
        with redis_server(folder) as url:
            check_on(tally, "redis", environment(CROSSLOCK_URL=url))
        with zookeeper_url(folder) as url:
            check_on(tally, "zookeeper", environment(CROSSLOCK_URL=url))
    check_without_neighbours(tally)


def check_on(tally, engine, env):
    check_line(tally, engine, env)
    check_signals(tally, engine, env)
    check_input(tally, engine, env)
    check_output(tally, engine, env)
    check_loss(tally, engine, env)
    check_waiting(tally, engine, env)


def check_line(tally, engine, env):
    held = Holding("--lease", "1s", "--owner", "desk", "--meta", "room=3", "line", env=env)
    said = held.line()
    tally.check(f"{engine}: hold prints one line of JSON when it has the lock",
                list(said) == ["event", "name", "fence", "owner_id", "engine", "mode", "lease_ms",
                               "pid"]
                and [said[each] for each in ("event", "name", "engine", "mode", "lease_ms", "pid")]
                == ["acquired", "line", engine, "exclusive", 1000, held.process.pid]
                and said["fence"].isdigit() and len(said["owner_id"]) == 32, str(said))
    code, _, err = crosslock("run", "-w", "2500ms", "line", "--", "true", env=env)
    tally.check(f"{engine}: it is renewed, and others see who has it",
                code == 75 and "(desk; room=3)" in err, f"{code} {err}")
    held.process.stdin.write("words that nobody reads\n")
    held.process.stdin.close()
    answer = held.end()
    tally.check(f"{engine}: the end of standard input ends it with 0",
                answer == (0, "", "") and is_free("line", env), str(answer))


def check_signals(tally, engine, env):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        held = Holding("signal", env=env)
        said = held.line()
        held.process.send_signal(number)
        answer = held.end()
        tally.check(f"{engine}: {number.name[3:]} ends it with 0, and the lock is free",
                    said.get("event") == "acquired" and answer == (0, "", "")
                    and is_free("signal", env), str(answer))
    held = Holding("signal", env=env,
                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    held.line()
    held.process.send_signal(signal.SIGHUP)
    still_held = not is_free("signal", env)
    held.process.send_signal(signal.SIGTERM)
    tally.check(f"{engine}: HUP does not end it under nohup",
                still_held and held.end()[0] == 0)


def check_input(tally, engine, env):
    held = Holding("empty", env=env, stdin=subprocess.DEVNULL)
    said, answer = held.line(), held.end()
    tally.check(f"{engine}: /dev/null ends at once",
                said.get("event") == "acquired" and answer == (0, "", ""), str(answer))
    held = Holding("--no-stdin", "empty", env=env, stdin=subprocess.DEVNULL)
    held.line()
    still_held = crosslock("run", "-w", "200ms", "empty", "--", "true", env=env)[0] == 75
    held.process.send_signal(signal.SIGTERM)
    answer = held.end()
    tally.check(f"{engine}: with --no-stdin only a signal ends it",
                still_held and answer == (0, "", "") and is_free("empty", env), str(answer))
    ours, theirs = pty.openpty()
    held = Holding("typed", env=env, stdin=theirs)
    os.close(theirs)
    held.line()
    os.write(ours, b"hello\n\x04")
    answer = held.end()
    os.close(ours)
    tally.check(f"{engine}: at a terminal Ctrl-D ends it",
                answer == (0, "", "") and is_free("typed", env), str(answer))


def check_output(tally, engine, env):
    held = Holding("reader", env=env)
    held.line()
    held.process.stdout.close()
    held.process.stdout = None
    code, _, err = held.end()
    tally.check(f"{engine}: it ends with 0 when its reader has gone",
                code == 0 and is_free("reader", env), f"{code} {err}")
    with open("/dev/full", "w") as full:
        code, _, err = crosslock("hold", "reader", env=env, stdout=full)
    tally.check(f"{engine}: what nobody can be told is not held",
                code == 70 and is_free("reader", env), f"{code} {err}")


def take_away(env, name):
    """As an administrator does who knows the server and not crosslock."""
    url = env["CROSSLOCK_URL"]
    if url.startswith("redis"):
        subprocess.run(["redis-cli", "-s", url.removeprefix("redis+unix://"), "DEL", name],
                       check=True, capture_output=True)
        return
    if url.startswith("zk"):
        delete_claims(url, name)
        return
    with sqlite3.connect(url.removeprefix("sqlite://")) as database:
        database.execute("DELETE FROM locks WHERE name = ?", [name])


def check_loss(tally, engine, env):
    held = Holding("--lease", "1s", "lost", env=env)
    held.line()
    take_away(env, "lost")
    said, answer = held.line(), held.end()
    # On ZooKeeper `crosslock break`, too, does no more than remove the node.
    reason = "broken" if engine == "zookeeper" else "gone"
    tally.check(f"{engine}: a lock that was lost is told in a line, exit code 79",
                said == {"event": "lost", "name": "lost", "reason": reason} and answer[0] == 79
                and "'lost' was lost" in answer[2], f"{said} {answer}")
    held = Holding("--lease", "500ms", "frozen", env=env)
    held.line()
    held.process.send_signal(signal.SIGSTOP)
    # Waits until the lease has ended.
    code, _, err = crosslock("run", "frozen", "--", "true", env=env)
    held.process.send_signal(signal.SIGCONT)
    said, answer = held.line(), held.end()
    tally.check(f"{engine}: frozen past its lease it finds out when it wakes up",
                code == 0 and said.get("event") == "lost" and answer[0] == 79,
                f"{code} {err} {said} {answer}")


def check_waiting(tally, engine, env):
    held = Holding("busy", env=env)
    held.line()
    answers = [crosslock("hold", *words, "busy", env=env) for words in
               (["-n"], ["-w", "50ms"], ["-n", "-E", "9"], ["-n", "--busy-ok"])]
    tally.check(f"{engine}: hold waits as run does",
                [answer[0] for answer in answers] == [75, 75, 9, 0]
                and all(answer[1] == "" for answer in answers), str(answers))
    waiter = Holding("busy", env=env)
    waits = wait_until(lambda: in_line(engine, "busy", env) == 1)
    waiter.process.send_signal(signal.SIGTERM)
    answer = waiter.end()
    tally.check(f"{engine}: a signal ends the wait of hold, as a signal does",
                waits and answer == (-signal.SIGTERM, "", ""), str(answer))
    waiter = Holding("busy", env=env)
    wait_until(lambda: in_line(engine, "busy", env) == 1)
    held.process.stdin.close()
    said = waiter.line()
    tally.check(f"{engine}: the next has it when it is given back",
                held.end()[0] == 0 and said.get("event") == "acquired", str(said))
    waiter.process.send_signal(signal.SIGTERM)
    waiter.end()


def check_without_neighbours(tally):
    env = environment(CROSSLOCK_URL="memory:")
    answer = crosslock("hold", "-s", "a", env=env)
    tally.check("hold needs no receipts: the memory engine will do",
                answer[0] == 0 and json.loads(answer[1])["mode"] == "shared", str(answer))
    for words in (["hold"], ["hold", "a", "b"], ["hold", "--permits", "0", "a"],
                  ["hold", "--meta", "x", "a"]):
        code, out, err = crosslock(*words, env=env)
        tally.check(f"{words} is a usage error", code == 64 and out == "" and err != "",
                    f"{code} {out}{err}")
