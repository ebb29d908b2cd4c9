"""`crosslock top`: the live table on a terminal, which comes back as it was, and the batch."""

import os
import signal
import subprocess
import tempfile

from doctor_cases import redis_server
from look_stage import Terminal, ask, background, holder, objects, terminal, waiter
from running import PATIENCE, wait_until

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def check(tally, engine, url):
    check_batch(tally, engine, url)
    check_live(tally, engine, url)
    check_ways_out(tally, engine, url)
    check_stop_and_go_on(tally, engine, url)
    check_vanished_terminal(tally, engine, url)


def check_batch(tally, engine, url):
    with holder(url, "a"), holder(url, "b") as held, waiter(url, "b", 1), holder(url, "c"):
        code, out, err = ask(url, "top", "-b", "-n", "2", "-d", "0.05")
        tables = out.split("\n\n")
        rows = tables[0].splitlines()
        tally.check(f"{engine}: top -b -n 2 prints two tables, plain", code == 0
                    and len(tables) == 2 and "\x1b" not in out and err == "", f"{code} {out}{err}")
        tally.check(f"{engine}: what is waited for is on top",
                    rows[1] == "3 locks held, 1 waiting for 1"
                    and rows[3].split()[:2] == ["b", "1"] and f"pid {held.pid} " in rows[3]
                    and sorted(row.split()[0] for row in rows[4:]) == ["a", "c"], out)
        out = ask(url, "top", "-b", "-n", "1", "b")[1]
        tally.check(f"{engine}: top PREFIX", len(out.splitlines()) == 4, out)
        code, out, _ = ask(url, "top", "-n", "1")
        tally.check(f"{engine}: top without a terminal is a batch",
                    code == 0 and len(out.splitlines()) == 6 and "\x1b" not in out, out)


def check_live(tally, engine, url):
    with terminal(url, "top", "-d", "20ms", columns=60) as live:
        tally.check(f"{engine}: top takes the other screen", live.read(ENTER))
        tally.check(f"{engine}: top of nothing", live.read("0 locks held"))
        tally.check(f"{engine}: keys are not echoed", not live.restored())
        with holder(url, "日本語の鍵-and-a-rather-long-name"), holder(url, "job"), \
                waiter(url, "job", 1):
            tally.check(f"{engine}: top follows what happens",
                        live.read("2 locks held, 1 waiting for 1"), live.seen)
            tally.check(f"{engine}: what is waited for has a colour", live.read("\x1b[33mjob"))
            live.resize(5, 24)
            tally.check(f"{engine}: a terminal that gets narrow",
                        live.read("2 locks held, 1 waiting…"), live.seen[-500:])
        live.type("q")
        code, said = live.end()
        tally.check(f"{engine}: q leaves, and the terminal is as before",
                    code == 0 and said.endswith(LEAVE) and live.restored(),
                    f"{code} {said[-80:]!r}")
    with terminal(url, "top", "-n", "2", "-d", "20ms", NO_COLOR="1") as plain:
        code, said = plain.end()
        tally.check(f"{engine}: top -n ends by itself; NO_COLOR",
                    code == 0 and said.endswith(LEAVE) and "\x1b[1m" not in said, repr(said))


def check_ways_out(tally, engine, url):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with terminal(url, "top", "-d", "20ms") as live:
            live.read("locks held")
            live.process.send_signal(number)
            code, said = live.end()
            tally.check(f"{engine}: {number.name} ends top, and the terminal is as before",
                        code == -number and said.endswith(LEAVE) and live.restored(),
                        f"{code} {said[-80:]!r}")


def check_vanished_terminal(tally, engine, url):
    """Also when nobody is told of it: with nohup."""
    opened = Terminal(url, "top", "-d", "20ms", ignored=signal.SIGHUP)
    opened.read("locks held")
    os.close(opened.theirs)
    os.close(opened.ours)
    try:
        code = opened.process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        opened.process.kill()
        code = "still running"
    tally.check(f"{engine}: top ends when its terminal has gone", code == 0, str(code))


def state_of(pid):
    with open(f"/proc/{pid}/stat") as line:
        return line.read().rsplit(")", 1)[1].split()[0]


def check_stop_and_go_on(tally, engine, url):
    with terminal(url, "top", "-d", "20ms") as live:
        live.read("locks held")
        live.process.send_signal(signal.SIGTSTP)
        tally.check(f"{engine}: a stopped top gives the terminal back",
                    live.read(LEAVE) and wait_until(lambda: state_of(live.process.pid) == "T")
                    and live.restored(), live.seen[-200:])
        live.process.send_signal(signal.SIGCONT)
        tally.check(f"{engine}: and takes it again when it goes on",
                    live.read(ENTER) and live.read("locks held") and not live.restored())
        live.type("q")
        tally.check(f"{engine}: then q still leaves",
                    live.end()[0] == 0 and live.restored())


def check_server_that_goes_away(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-top-") as folder:
        url = f"redis+unix://{folder}/redis.sock"
        with redis_server(folder):
            live = terminal(url, "top", "-d", "50ms")
            watching = background(url, "watch", "-d", "20ms")
            with holder(url, "job") as held:
                top, watch = live.__enter__(), watching.__enter__()
                seen = top.read("1 lock held") and watch.object()["event"] == "held"
                tally.check("a server is there", seen)
                held.process.kill()
                held.process.wait()
        try:
            check_absence(tally, folder, top, watch)
        finally:
            live.__exit__(None, None, None)
            watching.__exit__(None, None, None)


def check_absence(tally, folder, top, watch):
    tally.check("top says that the server has gone", top.read("trying again: "))
    gone = watch.object()
    tally.check("watch says that the server has gone",
                gone.get("event") == "unreachable" and gone.get("error"), str(gone))
    with redis_server(folder) as url:
        back = watch.object()
        tally.check("watch says that the server is back", back.get("event") == "reachable",
                    str(back))
        lost = watch.object()
        tally.check("and what has happened meanwhile",
                    (lost.get("event"), lost.get("name")) == ("released", "job"), str(lost))
        tally.check("top goes on",
                    top.read("0 locks held") and objects(url, "list", "--json") == [])
        # It neither answers nor refuses: who wants to leave need not wait for it.
        with subprocess.Popen(["redis-cli", "-s", f"{folder}/redis.sock", "CLIENT", "PAUSE",
                               "60000", "ALL"], stdout=subprocess.DEVNULL) as asking:
            asking.wait(PATIENCE)
        top.type("q")
        code, said = top.end()
        tally.check("q leaves also when the server does not answer",
                    code == 0 and said.endswith(LEAVE) and top.restored(), f"{code} {said[-80:]!r}")
