"""`crosslock acquire`, `renew` and `release`: a lock that is bound to no process. On the embedded
engine and on a redis-server of our own."""

import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time

import receipt_text_cases
from doctor_cases import redis_server
from running import PATIENCE, PROGRAM, wait_until
from tally import environment
from zookeeper_server import claims


def crosslock(*words, env, **options):
    """(exit code, stdout, stderr)"""
    options.setdefault("stdout", subprocess.PIPE)
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    done = subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                          env=env, **options)
    return done.returncode, done.stdout, done.stderr


def acquire(name, *words, env):
    """The receipt; empty when there is none."""
    return crosslock("acquire", *words, name, env=env)[1].strip()


def is_free(name, env):
    """Whether it is there to be had; it is not kept."""
    return crosslock("run", "-n", name, "--", "true", env=env)[0] == 0


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-receipt-") as folder:
        check_on(tally, "sqlite", environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db"))
        with redis_server(folder) as url:
            check_on(tally, "redis", environment(CROSSLOCK_URL=url))
        receipt_text_cases.check(tally, environment(CROSSLOCK_URL=f"sqlite://{folder}/text.db"))
    check_places(tally)


def check_on(tally, engine, env):
    check_life(tally, engine, env)
    check_forged(tally, engine, env)
    check_late(tally, engine, env)
    check_sources(tally, engine, env)
    check_modes(tally, engine, env)
    check_whole_lease(tally, engine, env)
    check_nothing_half_done(tally, engine, env)
    check_waiting(tally, engine, env)


def check_life(tally, engine, env):
    code, out, err = crosslock("acquire", "--owner", "nightly", "--meta", "build=7", "life",
                               env=env)
    receipt = out.strip()
    tally.check(f"{engine}: acquire prints a receipt, one word",
                (code, err) == (0, "") and out == f"{receipt}\n" and " " not in receipt
                and receipt.startswith(f"crosslock1:{engine}:"), f"{code} {out}{err}")
    code, out, err = crosslock("acquire", "-n", "life", env=env)
    tally.check(f"{engine}: then it is busy, and held by whom --owner and --meta name",
                (code, out) == (75, "") and "(nightly; build=7)" in err, f"{code} {out}{err}")
    answers = [crosslock("renew", receipt, env=env) for _ in range(2)]
    tally.check(f"{engine}: a receipt can be renewed as often as one likes",
                answers == [(0, "", "")] * 2, str(answers))
    tally.check(f"{engine}: release gives it back", crosslock("release", receipt, env=env)
                == (0, "", "") and is_free("life", env))
    for command in ("release", "renew"):
        code, out, err = crosslock(command, receipt, env=env)
        tally.check(f"{engine}: {command} of what was released is 79, and says why",
                    (code, out) == (79, "") and "'life'" in err and "released before" in err
                    and receipt not in err, f"{code} {out}{err}")


def check_forged(tally, engine, env):
    receipt = acquire("genuine", env=env)
    head, kind, owner, fence, name = receipt.split(":")
    forged = {
        "owner": [head, kind, owner[:-1] + ("0" if owner[-1] != "0" else "1"), fence, name],
        "fence": [head, kind, owner, str(int(fence) + 8192), name],
        "name": [head, kind, owner, fence, "another"],
    }
    for what, words in forged.items():
        for command in ("renew", "release"):
            code, out, err = crosslock(command, ":".join(words), env=env)
            tally.check(f"{engine}: {command} with a forged {what} is 79",
                        (code, out) == (79, "") and "genuine" in err, f"{code} {out}{err}")
    other = "sqlite" if engine == "redis" else "redis"
    for command in ("renew", "release"):
        code, out, err = crosslock(command, ":".join([head, other, owner, fence, name]), env=env)
        tally.check(f"{engine}: {command} of one of another engine is 78, and says what to do",
                    (code, out) == (78, "") and other in err and "--url" in err
                    and owner not in err, f"{code} {out}{err}")
    tally.check(f"{engine}: none of them has changed anything", not is_free("genuine", env))
    tally.check(f"{engine}: the genuine one is still good",
                crosslock("release", receipt, env=env)[0] == 0)


def check_late(tally, engine, env):
    late = acquire("late", "--lease", "300ms", env=env)
    code, out, err = crosslock("acquire", "late", env=env)  # waits until the lease has ended
    tally.check(f"{engine}: nobody renews it: it is free when its lease ends", code == 0, err)
    codes = [crosslock(command, late, env=env)[0] for command in ("renew", "release")]
    tally.check(f"{engine}: a late receipt is 79", codes == [79, 79], str(codes))
    tally.check(f"{engine}: ... and does not harm the next holder",
                not is_free("late", env) and crosslock("release", out.strip(), env=env)[0] == 0)
    kept = acquire("kept", "--lease", "2s", env=env)
    code = crosslock("renew", "--lease", "1h", kept, env=env)[0]
    waited = crosslock("acquire", "-w", "3s", "kept", env=env)[0]
    tally.check(f"{engine}: a renewed one is there beyond its first lease",
                (code, waited) == (0, 75), f"{code} {waited}")
    crosslock("release", kept, env=env)


def check_sources(tally, engine, env):
    first, second = acquire("first", env=env), acquire("second", env=env)
    kept = {**env, "CROSSLOCK_RECEIPT": first}
    codes = [crosslock("renew", env=kept)[0], crosslock("renew", second, env=kept)[0],
             crosslock("release", "-", env=kept, input=second + "\n")[0]]
    tally.check(f"{engine}: receipts come from the environment, from a word, and from a pipe",
                codes == [0, 0, 0] and is_free("second", env) and not is_free("first", env),
                str(codes))
    tally.check(f"{engine}: CROSSLOCK_RECEIPT is enough for a release",
                crosslock("release", env=kept)[0] == 0 and is_free("first", env))
    apart = {**env, "CROSSLOCK_PREFIX": "team-"}
    receipt = acquire("prefixed", env=apart)
    taken = not is_free("team-prefixed", env)
    codes = [crosslock("renew", receipt, env=apart)[0], crosslock("release", receipt, env=apart)[0]]
    tally.check(f"{engine}: a receipt has the whole name: no prefix is put before it again",
                taken and codes == [0, 0] and is_free("team-prefixed", env), f"{taken} {codes}")


def check_modes(tally, engine, env):
    readers = [acquire("shared", "-n", "-s", env=env) for _ in range(2)]
    writer = crosslock("acquire", "-n", "shared", env=env)[0]
    tally.check(f"{engine}: shared receipts keep writers out, and no readers",
                all(readers) and writer == 75, f"{readers} {writer}")
    codes = [crosslock("renew", readers[0], env=env)[0]]
    codes += [crosslock("release", receipt, env=env)[0] for receipt in readers]
    tally.check(f"{engine}: they are renewed and given back one by one",
                codes == [0, 0, 0] and is_free("shared", env), str(codes))
    permits = [acquire("permits", "-n", "--permits", "2", env=env) for _ in range(3)]
    tally.check(f"{engine}: there are as many receipts as permits",
                [bool(receipt) for receipt in permits] == [True, True, False], str(permits))
    crosslock("release", permits[0], env=env)
    again = acquire("permits", "-n", "--permits", "2", env=env)
    tally.check(f"{engine}: one that is given back can be had again", again != "")
    for receipt in (permits[1], again):
        crosslock("release", receipt, env=env)


def lease_left(engine, name, env):
    """In seconds, as the one says who keeps it."""
    url = env["CROSSLOCK_URL"]
    if engine == "redis":
        socket = url.removeprefix("redis+unix://")
        answer = subprocess.run(["redis-cli", "-s", socket, "PTTL", name], capture_output=True,
                                text=True, check=True).stdout
        return int(answer) / 1000
    path = url.removeprefix("sqlite://")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        row = database.execute("SELECT lease_left FROM held WHERE name = ?", [name]).fetchone()
    return row[0] if row else 0


def in_line(engine, name, env):
    url = env["CROSSLOCK_URL"]
    if engine == "redis":
        socket = url.removeprefix("redis+unix://")
        keys = subprocess.run(["redis-cli", "-s", socket, "KEYS", f"crosslock:*line:{name}"],
                              capture_output=True, text=True, check=True).stdout
        return 1 if keys.strip() else 0
    if engine == "zookeeper":
        return len(claims(url, name)) - 1
    path = url.removeprefix("sqlite://")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        row = database.execute("SELECT line FROM held WHERE name = ?", [name]).fetchone()
    return row[0] if row else 0


def check_whole_lease(tally, engine, env):
    """Who gets the lock by a handover gets an offer first, a tenth of the lease."""
    before = acquire("handed", env=env)
    waiter = subprocess.Popen([PROGRAM, "acquire", "--lease", "60s", "--format", "json", "handed"],
                              stdout=subprocess.PIPE, text=True, env=env)
    waits = wait_until(lambda: in_line(engine, "handed", env) == 1)
    crosslock("release", before, env=env)
    out = waiter.communicate(timeout=PATIENCE)[0]
    left = lease_left(engine, "handed", env)
    told = json.loads(out or "{}").get("lease_ms")
    tally.check(f"{engine}: after a handover the whole lease is there",
                waits and told == 60000 and 50 < left <= 61, f"waited: {waits}, {out} left: {left}")
    crosslock("release", json.loads(out or '{"receipt":""}')["receipt"], env=env)


def check_nothing_half_done(tally, engine, env):
    with open("/dev/full", "w") as full:
        code, _, err = crosslock("acquire", "full", env=env, stdout=full)
    tally.check(f"{engine}: a receipt that cannot be printed gives the lock back",
                code == 70 and "No space left" in err and is_free("full", env), f"{code} {err}")
    code, _, err = crosslock("acquire", "closed", env=env, stdout=None,
                             preexec_fn=lambda: os.close(1))
    tally.check(f"{engine}: without standard output nothing is taken",
                code == 70 and is_free("closed", env), f"{code} {err}")
    reading, writing = os.pipe()
    os.close(reading)
    code, _, err = crosslock("acquire", "unread", env=env, stdout=writing)
    os.close(writing)
    tally.check(f"{engine}: ... nor kept when nobody reads it",
                code == 70 and "Broken pipe" in err and is_free("unread", env), f"{code} {err}")
    check_signal_behind_the_grant(tally, engine, env)


def check_signal_behind_the_grant(tally, engine, env):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass  # now it is full
    os.set_blocking(writing, True)
    stuck = subprocess.Popen([PROGRAM, "acquire", "stuck"], stdout=writing,
                             stderr=subprocess.PIPE, text=True, env=env)
    os.close(writing)
    taken = wait_until(lambda: not is_free("stuck", env))
    stuck.send_signal(signal.SIGTERM)
    err = stuck.communicate(timeout=PATIENCE)[1]
    os.close(reading)
    tally.check(f"{engine}: a signal before the receipt is out gives the lock back",
                taken and stuck.returncode == -signal.SIGTERM and is_free("stuck", env),
                f"{stuck.returncode} {err}")


def check_waiting(tally, engine, env):
    receipt = acquire("busy", env=env)
    answers = [crosslock("acquire", *words, "busy", env=env) for words in
               (["-n"], ["-w", "0"], ["-w", "50ms"], ["-n", "-E", "9"], ["-n", "--busy-ok"])]
    tally.check(f"{engine}: acquire waits as run does",
                [answer[0] for answer in answers] == [75, 75, 75, 9, 0]
                and all(answer[1] == "" for answer in answers), str(answers))
    waiter = subprocess.Popen([PROGRAM, "acquire", "busy"], stdout=subprocess.PIPE, text=True,
                              env=env)
    waits = wait_until(lambda: in_line(engine, "busy", env) == 1)
    waiter.send_signal(signal.SIGTERM)
    out = waiter.communicate(timeout=PATIENCE)[0]
    tally.check(f"{engine}: a signal ends the wait of acquire, and nothing stays in line",
                waits and (waiter.returncode, out) == (-signal.SIGTERM, "")
                and in_line(engine, "busy", env) == 0, f"{waiter.returncode} {out}")
    crosslock("release", receipt, env=env)


def check_places(tally):
    env = environment(CROSSLOCK_URL="memory:")
    code, out, err = crosslock("acquire", "a", env=env)
    tally.check("where a lock ends with its process acquire is 78, and says what to use",
                (code, out) == (78, "") and "crosslock run" in err and "crosslock hold" in err,
                f"{code} {out}{err}")
    receipt = f"crosslock1:memory:{'7' * 32}:1:a"
    codes = [crosslock(command, receipt, env=env)[0] for command in ("renew", "release")]
    tally.check("... and so are renew and release", codes == [78, 78], str(codes))
    nowhere = environment(CROSSLOCK_URL="redis+unix:///nowhere/redis.sock")
    begun = time.monotonic()
    codes = [crosslock("acquire", "a", env=nowhere)[0],
             crosslock("release", receipt.replace("memory", "redis"), env=nowhere)[0]]
    tally.check("a server that is not there is 69", codes == [69, 69],
                f"{codes} after {time.monotonic() - begun:.1f} s")
    for words in (["acquire"], ["acquire", ""], ["acquire", "a", "b"], ["renew"], ["release"],
                  ["acquire", "--format", "xml", "a"], ["acquire", "--lease", "soon", "a"],
                  ["acquire", "--meta", "x", "a"], ["acquire", "--owner", "a\nb", "a"]):
        code, out, err = crosslock(*words, env=env)
        tally.check(f"{words} is a usage error", code == 64 and out == "" and err != "",
                    f"{code} {out}{err}")
