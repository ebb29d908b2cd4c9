"""Where locks cannot be kept: what is said, the exit code, that the command is not run, and that
nothing is lost. Cases that need another user or a disk of their own need root."""

import os
import signal
import sqlite3
import stat
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from guests import Guest, copy_program, folder_for_all
from running import HOLDS, PATIENCE, Running, once
from tally import environment

NOBODY = 65534


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-place-") as name:
        check_damage(tally, Path(name))
        check_no_file(tally, Path(name))
        check_no_home(tally, Path(name))
    if os.geteuid() != 0:
        tally.skipped += 1
        print("cli: not root: rights, a full disk and a read-only one were not tried")
        return
    with folder_for_all("crosslock-place-") as folder:
        check_rights(tally, folder)
        check_full_disk(tally, folder)
        check_read_only_disk(tally, folder)


def url_env(path, **more):
    return environment(CROSSLOCK_URL=f"sqlite://{path}", **more)


def content(folder):
    """All that lies in a folder, byte for byte."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def rights(place):
    return {path.name: (oct(stat.S_IMODE(path.stat().st_mode)), path.stat().st_gid)
            for path in place.iterdir()}


def check_refusal(tally, what, answer, code, *said):
    """The command has not run, and the complaint is one line with all that was to be said."""
    got, out, err = answer
    tally.check(what, got == code and out == "" and err.startswith("crosslock: ")
                and err.count("\n") == 1 and all(each in err for each in said),
                f"exit code {got}, expected {code} and {said}\n{out}{err}")


def make_database(path):
    """One with 200 names in it, at rest."""
    code, _, err = once("first", "true", env=url_env(path))
    if code != 0:
        raise RuntimeError(err)
    base = sqlite3.connect(path)
    base.executemany("INSERT INTO locks (name, top, crowd, since) VALUES (?, 1, 0, 1 << 60)",
                     [(f"a name that takes some room/{i}",) for i in range(200)])
    base.commit()
    base.close()  # the last to close it takes the log away
    return path.read_bytes()


def damaged_ways(good):
    """What each harm makes of a good database; exit code, and what is to be read."""
    page = 4096
    middle = len(good) // 2 // page * page
    overwritten = bytearray(good)
    overwritten[page::64] = b"\xff" * len(overwritten[page::64])
    return {
        "garbage": (os.urandom(3 * page), 78, "not a database"),
        "a letter": (b"Dear Anne,\n", 78, "not a database"),
        "a truncated database": (good[:middle], 69, "damaged"),
        "a page of zeros": (good[:page] + bytes(page) + good[2 * page:], 69, "damaged"),
        "damage everywhere": (bytes(overwritten), 69, "damaged"),
        "a head without a body": (good[:200], 69, "damaged"),
        "a head of zeros": (bytes(page) + good[page:], 78, "not a database"),
    }


def check_damage(tally, folder):
    good = make_database(folder / "good.db")
    for number, (what, (bad, code, said)) in enumerate(damaged_ways(good).items()):
        place = folder / f"bad-{number}"
        place.mkdir()
        path = place / "locks.db"
        path.write_bytes(bad)
        check_refusal(tally, f"{what}: run", once("n", "echo", "ran", env=url_env(path)), code,
                      str(path), said, "move it away")
        left = content(place)
        left.pop("locks.db-crosslock", None)  # a hint; it says nothing of locks
        tally.check(f"{what}: left as it was", left == {"locks.db": bad},
                    str({name: len(text) for name, text in left.items()}))
        # What the advice says helps.
        path.rename(place / "locks.db.bad")
        tally.check(f"{what}: moved away, all goes on",
                    once("n", "echo", "ran", env=url_env(path))[:2] == (0, "ran\n"))
    check_foreign(tally, folder, good)


def check_foreign(tally, folder, good):
    newer = folder / "newer.db"
    newer.write_bytes(good)
    base = sqlite3.connect(newer)
    base.execute("PRAGMA user_version = 77")
    base.close()
    before = newer.read_bytes()
    check_refusal(tally, "a newer schema", once("n", "echo", "ran", env=url_env(newer)), 78,
                  str(newer), "schema version 77", "newer crosslock")
    tally.check("a newer schema is left as it was", newer.read_bytes() == before)

    theirs = folder / "theirs.db"
    base = sqlite3.connect(theirs)
    base.execute("CREATE TABLE accounts (n)")
    base.commit()
    base.close()
    before = theirs.read_bytes()
    check_refusal(tally, "another program's database",
                  once("n", "echo", "ran", env=url_env(theirs)), 78, str(theirs), "another program")
    tally.check("another program's database is left as it was", theirs.read_bytes() == before)

    beside = folder / "beside.db"
    Path(f"{beside}-crosslock").write_text("x" * 7000)
    check_refusal(tally, "a foreign file beside the database",
                  once("n", "echo", "ran", env=url_env(beside)), 78, f"{beside}-crosslock",
                  "move it away")


def check_no_file(tally, folder):
    (folder / "directory").mkdir()
    check_refusal(tally, "a directory in place of the database",
                  once("n", "echo", "ran", env=url_env(folder / "directory")), 78,
                  str(folder / "directory"), "is a directory")
    os.mkfifo(folder / "pipe")
    check_refusal(tally, "a pipe in place of the database",
                  once("n", "echo", "ran", env=url_env(folder / "pipe")), 78,
                  str(folder / "pipe"), "not a file")
    check_refusal(tally, "a missing directory",
                  once("n", "echo", "ran", env=url_env(folder / "no/locks.db")), 78,
                  str(folder / "no"), "mkdir=yes")
    tally.check("a missing directory is not made unasked", not (folder / "no").exists())
    check_refusal(tally, "a file where a directory should be",
                  once("n", "echo", "ran", env=url_env(folder / "good.db/locks.db")), 78,
                  str(folder / "good.db"), "Not a directory")
    (folder / "dangling").symlink_to(folder / "gone/locks.db")
    check_refusal(tally, "a link that leads nowhere",
                  once("n", "echo", "ran", env=url_env(folder / "dangling")), 78,
                  str(folder / "gone"), "mkdir=yes")
    empty = folder / "empty.db"
    empty.touch()
    tally.check("an empty file becomes the database",
                once("n", "echo", "ran", env=url_env(empty))[:2] == (0, "ran\n"))


def check_no_home(tally, folder):
    """As systemd starts a unit."""
    bare = {"PATH": os.environ["PATH"]}
    check_refusal(tally, "no home directory", once("n", "echo", "ran", env=bare), 78, "--url",
                  "CROSSLOCK_URL", "sqlite:///")
    for named in ({"CROSSLOCK_URL": f"sqlite://{folder}/unit.db"}, {"HOME": str(folder)},
                  {"XDG_STATE_HOME": str(folder)}):
        tally.check(f"without a home, but with {list(named)}",
                    once("n", "echo", "ran", env=bare | named)[:2] == (0, "ran\n"))
    tally.check("without a home, but with --url",
                once("--url", f"sqlite://{folder}/unit.db", "n", "echo", "ran",
                     env=bare)[:2] == (0, "ran\n"))


def check_rights(tally, folder):
    programs = folder / "program"
    programs.mkdir()
    copy_program(programs)
    guest = Guest(programs, NOBODY)

    def runs(path):
        return guest.says("run", "n", "echo", "ran", CROSSLOCK_URL=f"sqlite://{path}")

    place = folder / "place"
    place.mkdir()
    path = place / "locks.db"
    make_database(path)
    cases = [  # mode of the directory, of the database; what is named
        ("an unreadable database", 0o777, 0o000, path, "writable"),
        ("a read-only database", 0o777, 0o444, path, "writable"),
        ("a read-only directory", 0o555, 0o666, place, "writable"),
        ("a directory nobody may enter", 0o000, 0o666, place, "Permission denied"),
        ("a directory that can only be listed", 0o744, 0o666, place, "Permission denied"),
    ]
    for what, of_place, of_path, named, said in cases:
        path.chmod(of_path)
        place.chmod(of_place)
        before = content(place)
        check_refusal(tally, what, runs(path), 77, f"'{named}", said)
        tally.check(f"{what}: all is as it was", content(place) == before, str(rights(place)))
    for left in place.iterdir():
        left.unlink()
    for mode in (0o555, 0o000):
        place.chmod(mode)
        check_refusal(tally, f"no database yet, in a directory of mode {mode:o}", runs(path), 77,
                      f"'{place}")
        tally.check("nothing was made", content(place) == {})
    place.chmod(0o777)
    make_database(path)
    path.chmod(0o666)
    beside = Path(f"{path}-crosslock")
    beside.touch()
    beside.chmod(0o600)
    check_refusal(tally, "a wake-up file of somebody else's", runs(path), 77, f"'{beside}")
    beside.unlink()
    tally.check("with all rights it runs", runs(path)[:2] == (0, "ran\n"), str(runs(path)))


@contextmanager
def disk(path, size):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(disk_path):
    with open(disk_path / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            pass


def check_full_disk(tally, folder):
    with disk(folder / "small", "1m") as small:
        path = small / "locks.db"
        fill(small)
        check_refusal(tally, "a full disk, and no database yet",
                      once("n", "echo", "ran", env=url_env(path)), 69, str(path), "make room")
        (small / "filler").unlink()
        tally.check("with room again the first run makes the database",
                    once("n", "echo", "ran", env=url_env(path))[:2] == (0, "ran\n"))
        holder = Running("kept", HOLDS, env=url_env(path))
        tally.check("a lock is held before the disk gets full", holder.line() == "started")
        fill(small)
        check_refusal(tally, "a full disk: another name",
                      once("other", "echo", "ran", env=url_env(path)), 69, str(path), "make room")
        check_refusal(tally, "a full disk: the name that is held",
                      once("-n", "kept", "echo", "ran", env=url_env(path)), 69, str(path),
                      "make room")
        tally.check("a full disk: the holder goes on", holder.process.poll() is None)
        (small / "filler").unlink()
        code, out, err = once("-n", "kept", "echo", "ran", env=url_env(path))
        tally.check("with room again it is still held", (code, out) == (75, ""), err)
        holder.send(signal.SIGTERM)
        code, _, err = holder.end()
        tally.check("its holder gives it back", code == 128 + signal.SIGTERM and err == "",
                    f"exit code {code}\n{err}")
        answer = once("-n", "kept", "echo", "ran", env=url_env(path))
        tally.check("and the next one gets it", answer == (0, "ran\n", ""), str(answer))
        check_released_on_full_disk(tally, small, path)


def check_released_on_full_disk(tally, small, path):
    """The command comes to its end while the disk is full."""
    holder = Running("late", HOLDS, env=url_env(path))
    holder.line()
    fill(small)
    holder.send(signal.SIGTERM)
    code, _, err = holder.end()
    tally.check("a release on a full disk: exit code of the command, and what was not done",
                code == 128 + signal.SIGTERM and "late" in err, f"exit code {code}\n{err}")
    (small / "filler").unlink()
    code, out, err = once("-w", str(PATIENCE - 5), "late", "echo", "ran", env=url_env(path))
    tally.check("what could not be released is free when its process is seen to be dead",
                (code, out) == (0, "ran\n"), f"exit code {code}\n{err}")


def check_read_only_disk(tally, folder):
    with disk(folder / "archive", "4m") as archive:
        path = archive / "locks.db"
        make_database(path)
        before = content(archive)
        subprocess.run(["mount", "-o", "remount,ro", archive], check=True)
        check_refusal(tally, "a read-only file system",
                      once("n", "echo", "ran", env=url_env(path)), 77, f"'{archive}",
                      "Read-only file system")
        tally.check("a read-only file system: all is as it was", content(archive) == before)
        check_refusal(tally, "a read-only file system without a database",
                      once("n", "echo", "ran", env=url_env(archive / "new.db")), 77, f"'{archive}",
                      "Read-only file system")
