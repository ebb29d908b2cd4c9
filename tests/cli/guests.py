"""Other users than root, and a copy of the program that they can reach. Needs root."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from running import PATIENCE, PROGRAM
from tally import environment

GROUP = f"crosslock-test-{os.getpid()}"


@contextlib.contextmanager
def folder_for_all(prefix):
    """One that everybody may pass through."""
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        os.chmod(name, 0o755)
        yield Path(name)


def copy_program(folder):
    """The program and its libraries, where every user can read them; how to start it there."""
    for path in [PROGRAM, *PROGRAM.parent.parent.glob("lib*/libcrosslock-*.so*")]:
        shutil.copy2(path, folder, follow_symlinks=False)
    for path in folder.iterdir():
        if not path.is_symlink():
            path.chmod(0o755)
    return folder / PROGRAM.name, {"LD_LIBRARY_PATH": str(folder)}


class Guest:
    """Somebody who runs the program: by default with no right but everybody's."""

    def __init__(self, folder, user, groups=(), umask=0o022):
        self.program, self.variables = folder / PROGRAM.name, {"LD_LIBRARY_PATH": str(folder)}
        self.how = {"user": user, "group": user, "extra_groups": list(groups), "umask": umask}

    def environment(self, **variables):
        return environment(**{**self.variables, "HOME": "/nonexistent", **variables})

    def says(self, *words, **variables):
        """(exit code, stdout, stderr)"""
        done = subprocess.run([self.program, *words], capture_output=True, text=True, cwd="/",
                              timeout=PATIENCE, stdin=subprocess.DEVNULL,
                              env=self.environment(**variables), **self.how)
        return done.returncode, done.stdout, done.stderr

    def start(self, *words, **variables):
        return subprocess.Popen([self.program, *words], text=True, cwd="/",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(**variables),
                                **self.how)


@contextlib.contextmanager
def two_users():
    """Names of two users, and the group that is theirs alone; they are gone afterwards."""
    made = []
    try:
        subprocess.run(["groupadd", "--system", GROUP], check=True, capture_output=True)
        made.append(["groupdel", GROUP])
        for name in (f"{GROUP}-a", f"{GROUP}-b"):
            subprocess.run(["useradd", "--system", "--user-group", "--no-create-home", "--groups",
                            GROUP, "--shell", "/bin/sh", name], check=True, capture_output=True)
            made.append(["userdel", name])
        yield f"{GROUP}-a", f"{GROUP}-b", GROUP
    finally:
        for undo in reversed(made):
            subprocess.run(undo, capture_output=True, check=False)
