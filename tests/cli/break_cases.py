"""`crosslock break`: who loses the lock, who is told, and what is asked before."""

from look_stage import ask, holder, shown, terminal, waiter
from running import wait_until

OTHER = "0123456789abcdef" * 2


def check(tally, engine, url):
    check_break(tally, engine, url)
    check_miss(tally, engine, url)
    check_question(tally, engine, url)


def check_break(tally, engine, url):
    with holder(url, "job") as held, waiter(url, "job", 1) as next_one:
        code, out, err = ask(url, "break", "job", "--owner-id", held.owner_id, "--yes")
        tally.check(f"{engine}: break names whom it has broken",
                    code == 0 and f"pid {held.pid} " in out and held.owner_id in out and err == "",
                    f"{code} {out}{err}")
        code, _, err = held.end(0)
        tally.check(f"{engine}: a run whose lock is broken is told, and exits with 79",
                    code == 79 and "job" in err, f"{code} {err}")
        tally.check(f"{engine}: the next in line gets it", next_one.line() == "started")
        seen = shown(url, "job")["holders"]
        tally.check(f"{engine}: the fence has grown",
                    seen[0]["pid"] == next_one.pid and int(seen[0]["fence"]) > int(held.fence),
                    f"{held.fence} {seen}")
        code, out, err = ask(url, "break", "job", "--owner-id", held.owner_id, "--yes")
        tally.check(f"{engine}: who does not hold it any more cannot be broken: 75, and who does",
                    (code, out) == (75, "") and f"pid {next_one.pid} " in err
                    and seen[0]["owner_id"] in err, f"{code} {out}{err}")
        tally.check(f"{engine}: and nothing has happened", shown(url, "job")["holders"][0]["fence"]
                    == seen[0]["fence"])


def check_miss(tally, engine, url):
    code, out, err = ask(url, "break", "free", "--owner-id", OTHER, "--yes")
    tally.check(f"{engine}: break of a free lock is 75, and says so",
                (code, out) == (75, "") and "nobody holds it" in err, f"{code} {out}{err}")
    with holder(url, "job") as held, waiter(url, "job", 1):
        waiting = shown(url, "job")["line"][0]["owner_id"]
        code, _, err = ask(url, "break", "job", "--owner-id", waiting, "--yes")
        tally.check(f"{engine}: a waiter cannot be broken", code == 75 and "waits" in err, err)
        code, _, err = ask(url, "break", "job", "--owner-id", held.owner_id)
        tally.check(f"{engine}: without a terminal and --yes break is a usage error that says so",
                    code == 64 and "--yes" in err and "terminal" in err, f"{code} {err}")
        tally.check(f"{engine}: neither has harmed the holder",
                    shown(url, "job")["holders"][0]["owner_id"] == held.owner_id)


def check_question(tally, engine, url):
    with holder(url, "job") as held:
        for answer in ("n\n", "\n", "yes, please\n", "\x04"):
            with terminal(url, "break", "job", "--owner-id", held.owner_id) as asked:
                tally.check(f"{engine}: break asks, and says who would lose it",
                            asked.read("[y/N]") and f"pid {held.pid} " in asked.last, asked.seen)
                asked.type(answer)
                code, said = asked.end()
                tally.check(f"{engine}: {answer!r} is a no: 75",
                            code == 75 and "nothing was broken" in said, f"{code} {said}")
        tally.check(f"{engine}: after a no the holder still has it",
                    shown(url, "job")["holders"][0]["owner_id"] == held.owner_id)
        with terminal(url, "break", "job", "--owner-id", held.owner_id, columns=40) as asked:
            asked.read("[y/N]")
            asked.type("y\n")
            tally.check(f"{engine}: y is a yes", asked.end()[0] == 0)
        tally.check(f"{engine}: and the holder is told", held.end(0)[0] == 79)
    tally.check(f"{engine}: then nobody has it",
                wait_until(lambda: shown(url, "job")["holders"] == []))
