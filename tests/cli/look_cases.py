"""`crosslock list`, `show` and `watch`: what they say of holders and waiters, and how they end."""

import getpass
import os
import signal
import socket
import subprocess
import tempfile

import break_cases
import look_foreign_cases
import top_cases
from look_stage import (Background, ask, background, engines, holder, objects, shown, terminal,
                        waiter)
from running import PATIENCE, PROGRAM
from tally import environment

LOOKING = (["list"], ["show", "x"], ["watch"], ["top", "-b", "-n", "1"],
           ["break", "x", "--owner-id", "f" * 32, "--yes"])


def check(tally):
    check_usage(tally)
    check_unreachable(tally)
    check_no_database(tally)
    with engines() as all_of_them:
        for engine, url in all_of_them:
            check_nothing(tally, engine, url)
            check_holder_and_line(tally, engine, url)
            check_modes(tally, engine, url)
            check_names(tally, engine, url)
            check_list_watch(tally, engine, url)
            check_watch(tally, engine, url)
            check_end_of_watch(tally, engine, url)
            break_cases.check(tally, engine, url)
            top_cases.check(tally, engine, url)
        look_foreign_cases.check(tally, dict(all_of_them)["redis"])
    top_cases.check_server_that_goes_away(tally)


def check_usage(tally):
    for words in (["show"], ["list", "a", "b"], ["list", "--names", "--json"], ["show", ""],
                  ["list", "--watch", "-d", "0"], ["watch", "-d", "soon"], ["top", "-n", "0"],
                  ["break", "x"], ["break", "x", "--owner-id", "1"], ["show", "a\nb"],
                  ["watch", "--for", "x"], ["show", "crosslock:{election}:x"]):
        code, out, err = ask("memory:", *words)
        tally.check(f"{words} is a usage error", code == 64 and out == "" and err != "",
                    f"exit code {code}\n{out}{err}")


def check_unreachable(tally):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens
        port = silent.getsockname()[1]
        for words in LOOKING:
            code, out, err = ask(f"redis://ann:qzwx@127.0.0.1:{port}", *words)
            tally.check(f"{words[0]}: nobody at the port is 69",
                        (code, out) == (69, "") and str(port) in err and "qzwx" not in err,
                        f"{code}\n{out}{err}")
    for words in LOOKING:
        code, out, err = ask("redis://h/x", *words)
        tally.check(f"{words[0]}: a wrong URL is 78", (code, out) == (78, "") and err != "",
                    f"{code}\n{out}{err}")


def check_no_database(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-look-") as folder:
        url = f"sqlite://{folder}/locks.db"
        tally.check("list where there is no database is empty", ask(url, "list")[0] == 0)
        tally.check("show where there is no database says nobody",
                    objects(url, "show", "x", "--json")
                    == [{"name": "x", "kind": "lock", "holders": [], "line": []}])
        tally.check("top where there is no database",
                    ask(url, "top", "-b", "-n", "1")[1].splitlines()[1] == "0 locks held")
        tally.check("looking makes no database", os.listdir(folder) == [], str(os.listdir(folder)))
        code, _, err = ask(f"sqlite://{folder}/slip/locks.db", "list")
        tally.check("a directory that is not there is an error that names it",
                    code == 78 and "slip" in err, f"{code} {err}")
        homes = {"HOME": folder, "XDG_STATE_HOME": ""}
        tally.check("list at the default place where nothing was locked yet is empty",
                    ask("", "list", **homes) == (0, "no locks\n", ""))
        tally.check("looking makes no default place", os.listdir(folder) == [])
        with background(url, "watch", "-d", "20ms") as watching:
            with holder(url, "late"):
                tally.check("a database that comes later is found",
                            watching.object().get("name") == "late")


def check_nothing(tally, engine, url):
    tally.check(f"{engine}: list of nothing", ask(url, "list") == (0, "no locks\n", ""))
    tally.check(f"{engine}: list --json of nothing", ask(url, "list", "--json") == (0, "", ""))
    tally.check(f"{engine}: show of nothing",
                ask(url, "show", "a b") == (0, "nobody holds 'a b' or waits for it\n", ""))


def check_holder_and_line(tally, engine, url):
    with holder(url, "job") as held, waiter(url, "job", 1) as first, waiter(url, "job", 2) as last:
        seen = shown(url, "job")
        one = seen["holders"][0]
        expected = {"owner_id": held.owner_id, "mode": "exclusive", "fence": held.fence,
                    "user": getpass.getuser(), "host": socket.gethostname(), "pid": held.pid,
                    "program": "crosslock", "foreign": False}
        tally.check(f"{engine}: show --json says who holds",
                    len(seen["holders"]) == 1 and expected.items() <= one.items(), str(seen))
        lease = 10000 if engine == "zookeeper" else 30000  # there it is the session's
        tally.check(f"{engine}: what is left of the lease",
                    lease - 5000 < one["lease_left_ms"] <= lease, str(one))
        tally.check(f"{engine}: who is the whole text",
                    one["who"].startswith(f"{one['user']}@{one['host']} pid {held.pid} crosslock")
                    and one["note"] in one["who"], str(one))
        tally.check(f"{engine}: the line in order",
                    [each["pid"] for each in seen["line"]] == [first.pid, last.pid], str(seen))
        ages = [one["age_ms"], *(each["age_ms"] for each in seen["line"])]
        tally.check(f"{engine}: who came earlier has been there longer",
                    ages == sorted(ages, reverse=True) and ages[-1] >= 0, str(ages))
        listed = objects(url, "list", "--json")
        tally.check(f"{engine}: list --json has the same fields",
                    [each["name"] for each in listed] == ["job"]
                    and listed[0]["holders"][0].keys() == one.keys()
                    and listed[0]["line"][0].keys() == seen["line"][0].keys(), str(listed))
        check_text(tally, engine, url, held, [first, last])


def check_text(tally, engine, url, held, waiting):
    out = ask(url, "show", "job")[1]
    words = [held.fence, held.owner_id, f"pid {held.pid} ", *(f"pid {w.pid} " for w in waiting)]
    tally.check(f"{engine}: show says it all to people, the line in order",
                all(word in out for word in words)
                and out.index(words[-2]) < out.index(words[-1]) and "\x1b" not in out, out)
    rows = ask(url, "list")[1].splitlines()
    tally.check(f"{engine}: list has a row for each of them",
                [row.split()[1] for row in rows[1:]] == ["held", "waits", "waits"]
                and held.fence in rows[1] and held.owner_id in rows[1]
                and all(f"pid {w.pid} " in row for w, row in zip(waiting, rows[2:])),
                "\n".join(rows))
    with terminal(url, "list", columns=50) as narrow:
        code, out = narrow.end()
        tally.check(f"{engine}: list on a narrow terminal is cut to it, in colours",
                    code == 0 and "\x1b[33m" in out and "…" in out
                    and all(len(strip(line)) <= 50 for line in out.splitlines()), repr(out))
    with terminal(url, "list", NO_COLOR="1") as plain:
        tally.check(f"{engine}: NO_COLOR", "\x1b" not in plain.end()[1])


def strip(line):
    for code in ("0", "1", "31", "33"):
        line = line.replace(f"\x1b[{code}m", "")
    return line


def check_modes(tally, engine, url):
    with holder(url, "read", "-s") as one, holder(url, "read", "-s") as other:
        seen = shown(url, "read")
        tally.check(f"{engine}: all who share it are shown",
                    {(each["pid"], each["mode"]) for each in seen["holders"]}
                    == {(one.pid, "shared"), (other.pid, "shared")}, str(seen))
    with holder(url, "sem", "--permits", "2"), holder(url, "sem", "--permits", "2"), \
            waiter(url, "sem", 1, "--permits", "2"):
        seen = shown(url, "sem")
        tally.check(f"{engine}: permits, taken and waited for",
                    [(each["mode"], each["permits"], each["of"])
                     for each in seen["holders"] + seen["line"]] == [("permit", 1, 2)] * 3,
                    str(seen))
        out = ask(url, "show", "sem")[1]
        tally.check(f"{engine}: show sums permits up", "2 of 2 permits taken" in out, out)


def check_names(tally, engine, url):
    with holder(url, "app/ä"), holder(url, "app/日本"), holder(url, "other"):
        tally.check(f"{engine}: list --names, in order",
                    ask(url, "list", "--names")[1] == "app/ä\napp/日本\nother\n")
        tally.check(f"{engine}: list PREFIX",
                    [each["name"] for each in objects(url, "list", "app/", "--json")]
                    == ["app/ä", "app/日本"])
        tally.check(f"{engine}: --prefix comes before names and is not shown",
                    ask(url, "list", "--names", "--prefix", "app/")[1] == "ä\n日本\n"
                    and ask(url, "list", "--names", "--all", "--prefix", "app/")[1] == "ä\n日本\n"
                    and objects(url, "show", "ä", "--json", CROSSLOCK_PREFIX="app/")[0]["holders"])
        rows = ask(url, "list")[1].splitlines()
        # A wide character takes two columns, and these are two of them.
        ends = [row.index("held") + (2 if "日本" in row else 0) for row in rows[1:]]
        tally.check(f"{engine}: columns are those of a terminal", len(set(ends)) == 1,
                    "\n".join(rows))


def check_list_watch(tally, engine, url):
    with background(url, "list", "--watch", "--json", "-d", "20ms") as all_of_them, \
            background(url, "show", "job", "--watch", "-d", "20ms") as one:
        before = all_of_them.object()
        nobody = one.line()
        with holder(url, "job"):
            during = all_of_them.object()
            shown_lines = [one.line() for _ in range(3)]
        tally.check(f"{engine}: list --watch prints what has changed",
                    before == {"locks": []} and during["locks"][0]["name"] == "job"
                    and all_of_them.object() == {"locks": []}, f"{before} {during}")
        tally.check(f"{engine}: show --watch prints what has changed",
                    nobody.startswith("nobody") and shown_lines[:2] == ["", "job"],
                    f"{nobody} {shown_lines}")
    with terminal(url, "list", "--watch", "-d", "20ms") as drawn:
        tally.check(f"{engine}: list --watch on a terminal", drawn.read("no locks"))
        with holder(url, "job"):
            tally.check(f"{engine}: list --watch draws anew", drawn.read("held"))
        drawn.type("\x03")
        tally.check(f"{engine}: and ends with Ctrl-C", drawn.end()[0] == -signal.SIGINT)


def check_watch(tally, engine, url):
    """The order of events is that of what happens here, for each step waits for the one before."""
    with background(url, "watch", "wa", "-d", "20ms") as watching:
        with holder(url, "warm-up"):  # held or acquired, as it began before this or after
            watching.object()
        watching.object()
        with holder(url, "watched") as held, holder(url, "elsewhere"):
            events = [watching.object()]
            with background(url, "run", "watched", "--", "sleep", "100") as w:
                events.append(watching.object())
                held.end()
                events += [watching.object(), watching.object()]
                w.end()
                events.append(watching.object())
            with holder(url, "watched"):
                with waiter(url, "watched", 1):
                    events += [watching.object(), watching.object()]
                events.append(watching.object())
        expected = [("acquired", held.pid), ("waiting", w.pid), ("released", held.pid),
                    ("acquired", w.pid), ("released", w.pid)]
        tally.check(f"{engine}: watch tells who came and went",
                    [(each.get("event"), each.get("pid")) for each in events[:5]] == expected,
                    "\n".join(map(str, events)))
        first = events[0]
        tally.check(f"{engine}: an event says all of a hold",
                    (first["name"], first["owner_id"], first["fence"], first["mode"])
                    == ("watched", held.owner_id, held.fence, "exclusive")
                    and first["time"].endswith("Z") and first["who"] != "", str(first))
        tally.check(f"{engine}: who gives up waiting has left",
                    [each.get("event") for each in events[5:]] == ["acquired", "waiting", "left"],
                    str(events[5:]))
        err = watching.end()[2]
        tally.check(f"{engine}: watch says once that it may miss something",
                    err.count("missed") == 1 and len(err.splitlines()) == 1, err)


def check_end_of_watch(tally, engine, url):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with holder(url, "job"):
            watching = Background(url, "watch")
            first = watching.object()
            code, rest, _ = watching.end(number)
        tally.check(f"{engine}: {number.name} ends watch as it ends other programs",
                    (first["event"], code, rest) == ("held", -number, ""), f"{code} {rest}")
    with holder(url, "job"):
        tally.check(f"{engine}: watch --count",
                    len(objects(url, "watch", "--count", "1")) == 1)
        code, out, _ = ask(url, "watch", "--for", "50ms")
        tally.check(f"{engine}: watch --for", code == 0 and len(out.splitlines()) == 1, out)
        # Nobody reads any more, and nothing happens: it ends all the same.
        watching = subprocess.Popen([PROGRAM, "watch", "-d", "20ms"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL,
                                    env=environment(CROSSLOCK_URL=url))
        watching.stdout.readline()
        watching.stdout.close()
        try:
            code = watching.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            watching.kill()
            code = "still running"
        tally.check(f"{engine}: watch ends when nobody reads", code == -signal.SIGPIPE, str(code))
    with open("/dev/full", "w") as full, holder(url, "job"):
        code = subprocess.run([PROGRAM, "watch"], stdout=full, stderr=subprocess.DEVNULL,
                              timeout=PATIENCE, env=environment(CROSSLOCK_URL=url)).returncode
    tally.check(f"{engine}: a full disk ends watch", code == 70, str(code))
