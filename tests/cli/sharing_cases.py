"""Two real users share one database by the rights of a group. Needs root, who makes the users."""

import grp
import os
import pwd
import select
import signal
import sqlite3

from guests import Guest, copy_program, folder_for_all, two_users
from location_cases import NOBODY, check_refusal, rights
from running import PATIENCE, wait_until

# In one process, which a signal therefore reaches.
SAYS_AND_WAITS = "echo started; exec sleep 100"


def check(tally):
    if os.geteuid() != 0:
        tally.skipped += 1
        print("cli: not root: two users of one database were not tried")
        return
    with folder_for_all("crosslock-users-") as folder, two_users() as (anne, bert, group):
        programs = folder / "program"
        programs.mkdir()
        copy_program(programs)

        def guest(name, umask=0o022):
            return Guest(programs, name, [group], umask)

        for number, umask in enumerate((0o022, 0o077, 0o000)):
            check_sharing(tally, make_place(folder / f"ab{number}", group), umask,
                          guest(anne, umask), guest(bert))
            check_sharing(tally, make_place(folder / f"ba{number}", group), umask,
                          guest(bert, umask), guest(anne, umask))
        check_first_together(tally, folder, group, guest(anne, 0o077), guest(bert, 0o077))
        stranger = Guest(programs, NOBODY)
        check_strangers(tally, folder / "ab0", stranger)
        check_no_more_than_allowed(tally, folder, group, guest(anne), guest(bert))


def make_place(path, group, mode=0o2770):
    """As docs/engines/sqlite.md says: install -d -m 2770 -g GROUP DIR"""
    path.mkdir()
    os.chown(path, 0, grp.getgrnam(group).gr_gid)
    path.chmod(mode)
    return path


def url_of(place):
    return {"CROSSLOCK_URL": f"sqlite://{place}/locks.db"}


def next_line(process):
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    return process.stdout.readline().strip() if ready else ""


def end(process, number):
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def line_length(place):
    base = sqlite3.connect(f"file:{place}/locks.db?mode=ro", uri=True)
    try:
        return base.execute("SELECT count(*) FROM claims WHERE state = 1").fetchone()[0]
    finally:
        base.close()


def check_sharing(tally, place, umask, first, second):
    way = f"{place.name}, umask {umask:03o}"
    url = url_of(place)
    for who, one in (("first", first), ("second", second), ("first", first)):
        answer = one.says("run", "n", "echo", "ran", **url)
        tally.check(f"{way}: the {who} user runs", answer == (0, "ran\n", ""), str(answer))
    for holder, other in ((first, second), (second, first)):
        check_contention(tally, way, place, holder, other)


def check_contention(tally, way, place, holder, other):
    url, group = url_of(place), place.stat().st_gid
    running = holder.start("run", "n", "--", "sh", "-c", SAYS_AND_WAITS, **url)
    tally.check(f"{way}: one holds it", next_line(running) == "started")
    names = {f"locks.db{end}" for end in ("", "-wal", "-shm", "-crosslock")}
    found = rights(place)
    tally.check(f"{way}: all files are for the group, and for nobody else",
                found == {name: ("0o660", group) for name in names}, str(found))
    code, out, err = other.says("run", "-n", "n", "echo", "ran", **url)
    tally.check(f"{way}: the other one finds it busy, and by whom",
                (code, out) == (75, "") and holder.how["user"] in err, f"exit code {code}\n{err}")
    code, out, err = other.says("list", **url)
    tally.check(f"{way}: the other one sees who has it",
                code == 0 and holder.how["user"] in out, f"exit code {code}\n{out}{err}")
    waiting = other.start("run", "n", "--", "sh", "-c", SAYS_AND_WAITS, **url)
    tally.check(f"{way}: the other one stands in line", wait_until(lambda: line_length(place)))
    end(running, signal.SIGTERM)
    tally.check(f"{way}: the other one gets it then", next_line(waiting) == "started")
    # It is not allowed to send the other one a signal; the death is seen all the same.
    waiting.kill()
    answer = holder.says("run", "-w", str(PATIENCE - 5), "n", "echo", "ran", **url)
    tally.check(f"{way}: the death of another user's process is seen", answer[:2] == (0, "ran\n"),
                str(answer))
    waiting.communicate(timeout=PATIENCE)


def check_first_together(tally, folder, group, one, other):
    """Who makes the database leaves no moment in which the other is kept out."""
    refused = []
    for number in range(20):
        place = make_place(folder / f"race{number}", group)
        both = [each.start("run", f"{each.how['user']}", "true", **url_of(place))
                for each in (one, other)]
        for process in both:
            _, err = process.communicate(timeout=PATIENCE)
            if process.returncode != 0:
                refused.append(err)
    tally.check("two users who come first together are both let in", not refused,
                "".join(refused))


def check_strangers(tally, place, stranger):
    check_refusal(tally, "a user without the group",
                  stranger.says("run", "n", "echo", "ran", **url_of(place)), 77, f"'{place}")


def check_no_more_than_allowed(tally, folder, group, one, other):
    closed = make_place(folder / "closed", group, 0o2750)
    os.chown(closed, one_id(one), -1)
    answer = one.says("run", "n", "echo", "ran", **url_of(closed))
    tally.check("a directory that the group may only read: its owner runs",
                answer[:2] == (0, "ran\n"), str(answer))
    found = rights(closed)
    tally.check("there the group gets no right to write",
                all(not int(mode, 8) & 0o020 for mode, _ in found.values()), str(found))
    check_refusal(tally, "there the other one is refused",
                  other.says("run", "n", "echo", "ran", **url_of(closed)), 77, f"'{closed}")

    # Without the group's mark on the directory new files are of the user's own group.
    plain = make_place(folder / "plain", group, 0o770)
    answer = one.says("run", "n", "echo", "ran", **url_of(plain))
    tally.check("a directory without setgid: the first one runs", answer[:2] == (0, "ran\n"),
                str(answer))
    check_refusal(tally, "a directory without setgid: the other one is refused",
                  other.says("run", "n", "echo", "ran", **url_of(plain)), 77,
                  f"'{plain}/locks.db", "writable")

    seen = make_place(folder / "seen", group, 0o2775)
    one.says("run", "n", "echo", "ran", **url_of(seen))
    mode = rights(seen)["locks.db"][0]
    tally.check("a directory for all to read: others may read, and not write", mode == "0o664",
                mode)


def one_id(guest):
    return pwd.getpwnam(guest.how["user"]).pw_uid
