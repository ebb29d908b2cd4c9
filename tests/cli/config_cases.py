"""Where url, lease and prefix come from: flag, environment, the user's file, the machine's file,
default. What was chosen is read from the database itself while the command runs."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from guests import Guest, copy_program, folder_for_all
from location_cases import NOBODY, check_refusal
from running import PATIENCE, PROGRAM, once
from tally import environment

# Says in which database the lock is, under which whole name, with how long a lease.
SAYS = ["sh", "-c", "for base in *.db; do sqlite3 \"$base\" \"SELECT '$base ' || name || ' ' || "
        "(lease / 1000000) FROM locks WHERE owner IS NOT NULL\"; done"]


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-config-") as name:
        folder = Path(name)
        check_user_file(tally, folder)
        check_mistakes(tally, folder)
        if os.geteuid() == 0:
            check_machine_file(tally, folder)
    if os.geteuid() == 0:
        check_unreadable(tally)
    else:
        tally.skipped += 1
        print("cli: not root: /etc/crosslock.conf and unreadable files were not tried")


def write_user_file(folder, text):
    path = folder / ".config" / "crosslock.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def chosen(folder, *flags, through=(), **variables):
    """What the command finds: (database, name, lease in ms); or the complaint."""
    bare = {key: value for key, value in environment(HOME=str(folder), **variables).items()
            if not key.startswith("XDG_") or key in variables}
    done = subprocess.run([*through, PROGRAM, "run", *flags, "n", "--", *SAYS], cwd=folder,
                          capture_output=True, text=True, timeout=PATIENCE, env=bare,
                          stdin=subprocess.DEVNULL)
    return tuple(done.stdout.split()) if done.returncode == 0 else done.stderr


def expect(tally, what, found, expected):
    tally.check(f"configuration: {what}", found == expected, f"{found}, expected {expected}")


def check_user_file(tally, folder):
    file_url = f"url = sqlite://{folder}/file.db\n"
    write_user_file(folder, f"# locks of mine\n\n{file_url}lease=7s\r\n  prefix = team/ \n")
    expect(tally, "the user's file", chosen(folder), ("file.db", "team/n", "7000"))
    expect(tally, "the environment comes before the file",
           chosen(folder, CROSSLOCK_URL="sqlite:env.db", CROSSLOCK_LEASE="8s",
                  CROSSLOCK_PREFIX="env/"), ("env.db", "env/n", "8000"))
    expect(tally, "each for itself: the lease", chosen(folder, CROSSLOCK_LEASE="8s"),
           ("file.db", "team/n", "8000"))
    expect(tally, "each for itself: the prefix", chosen(folder, CROSSLOCK_PREFIX="env/"),
           ("file.db", "env/n", "7000"))
    expect(tally, "an empty variable is none", chosen(folder, CROSSLOCK_URL="", CROSSLOCK_LEASE="",
                                                      CROSSLOCK_PREFIX=""),
           ("file.db", "team/n", "7000"))
    expect(tally, "flags come before all",
           chosen(folder, "--url", "sqlite:flag.db", "--lease", "9", "--prefix", "flag/",
                  CROSSLOCK_URL="sqlite:env.db", CROSSLOCK_LEASE="8s", CROSSLOCK_PREFIX="env/"),
           ("flag.db", "flag/n", "9000"))
    expect(tally, "an empty prefix is one, too", chosen(folder, "--prefix", ""),
           ("file.db", "n", "7000"))
    expect(tally, "the URL's own parameters come before the file",
           chosen(folder, "--url", "sqlite:flag.db?lease=3s&prefix=url/"),
           ("flag.db", "url/n", "3000"))
    # The URL is a line of the file here, and so are its parameters.
    write_user_file(folder, f"url=sqlite://{folder}/file.db?lease=3s&prefix=url/\n")
    expect(tally, "a URL of the file brings its parameters", chosen(folder),
           ("file.db", "url/n", "3000"))
    expect(tally, "the environment comes before the parameters of the file's URL",
           chosen(folder, CROSSLOCK_LEASE="8s", CROSSLOCK_PREFIX="env/"),
           ("file.db", "env/n", "8000"))
    other = folder / "other"
    other.mkdir()
    (other / "crosslock.conf").write_text(f"url=sqlite://{folder}/xdg.db\n")
    expect(tally, "XDG_CONFIG_HOME names another folder",
           chosen(folder, XDG_CONFIG_HOME=str(other)), ("xdg.db", "n", "30000"))


def check_mistakes(tally, folder):
    def says(text):
        path = write_user_file(folder, text)
        env = {**environment(HOME=str(folder))}
        env.pop("XDG_CONFIG_HOME", None)
        return path, once("n", "echo", "ran", env=env)

    path, answer = says("url=memory:\ncolour=red\n")
    check_refusal(tally, "an unknown key", answer, 78, f"{path}:2", "colour", "prefix=")
    path, answer = says("url=memory:\n\nurl=memory:other\n")
    check_refusal(tally, "a key given twice", answer, 78, f"{path}:3", f"{path}:1", "url=")
    path, answer = says("memory:\n")
    check_refusal(tally, "a line without a key", answer, 78, f"{path}:1", "url=")
    path, answer = says("url=memory:\nlease=soon\n")
    check_refusal(tally, "a lease that is none", answer, 78, f"{path}:2", "soon", "30s")
    path, answer = says("url=\n")
    check_refusal(tally, "an empty URL", answer, 78, f"{path}:1", "url=")
    path, answer = says("url=memory:\nprefix=\x01\n")
    check_refusal(tally, "a prefix that no name may have", answer, 64, "name")
    for line in ("url=redis://ann:hunter2@[::1\n", "redis://ann:hunter2@h\n",
                 "url =redis://ann:hunter2@127.0.0.1:1\n", "url=nothing://ann:hunter2@h\n",
                 "URL=redis://ann:hunter2@h\n", "url=redis://ann:hunter2@h?no=1\n"):
        path, (code, out, err) = says(line)
        tally.check(f"a password is not printed: {line.strip()}",
                    code in (69, 78) and out == "" and err != "" and "hunter2" not in err, err)
        tally.check(f"the line at fault is named: {line.strip()}",
                    code == 69 or any(each in err for each in (f"{path}:1", "'nothing'", '"no"')),
                    err)
    (folder / ".config" / "crosslock.conf").unlink()
    (folder / ".config" / "crosslock.conf").mkdir()
    env = {**environment(HOME=str(folder))}
    check_refusal(tally, "a directory in place of the file", once("n", "echo", "ran", env=env), 78,
                  str(path), "directory")


def check_machine_file(tally, folder):
    """In a namespace of its own, where /etc is a folder of ours."""
    shutil.rmtree(folder / ".config")
    etc = folder / "etc"
    etc.mkdir()
    for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache"):
        if Path("/etc", name).exists():
            shutil.copy(Path("/etc", name), etc)
    inside = ["unshare", "--mount", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\"", etc]
    (etc / "crosslock.conf").write_text(f"url=sqlite://{folder}/etc.db\nlease=5s\nprefix=etc/\n")
    expect(tally, "the machine's file", chosen(folder, through=inside),
           ("etc.db", "etc/n", "5000"))
    write_user_file(folder, "lease=6s\n")
    expect(tally, "the user's file comes before the machine's, line by line",
           chosen(folder, through=inside), ("etc.db", "etc/n", "6000"))
    write_user_file(folder, f"url=sqlite://{folder}/file.db\nlease=6s\nprefix=team/\n")
    expect(tally, "the user's file comes before the machine's", chosen(folder, through=inside),
           ("file.db", "team/n", "6000"))
    (etc / "crosslock.conf").write_text(f"url=sqlite://{folder}/etc.db?lease=4s&prefix=url/\n")
    write_user_file(folder, "lease=6s\nprefix=team/\n")
    expect(tally, "... and before the parameters of its URL", chosen(folder, through=inside),
           ("etc.db", "team/n", "6000"))
    # Without a home the machine's file is all there is.
    done = subprocess.run([*inside, PROGRAM, "run", "n", "--", *SAYS], cwd=folder, text=True,
                          capture_output=True, env={"PATH": os.environ["PATH"]},
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    expect(tally, "without a home directory", tuple(done.stdout.split()),
           ("etc.db", "url/n", "4000"))


def check_unreadable(tally):
    with folder_for_all("crosslock-config-") as folder:
        programs = folder / "program"
        programs.mkdir()
        copy_program(programs)
        path = write_user_file(folder, "url=memory:\n")
        path.chmod(0o600)
        guest = Guest(programs, NOBODY)
        answer = guest.says("run", "n", "echo", "ran", HOME=str(folder))
        check_refusal(tally, "a file that cannot be read", answer, 77, str(path),
                      "Permission denied", "chmod")
