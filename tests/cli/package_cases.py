"""cmake/install-packages, with an apt-get and a dpkg-query of our own: this machine has all
packages already, and would be changed."""

import os
import tempfile
from pathlib import Path

from tally import ROOT, environment, run

# Everything but libzookeeper-st-dev and libhiredis-dev is installed, and so is something that the
# former does not suffer beside it.
DPKG_QUERY = """#!/bin/sh
case $4 in libzookeeper-st-dev | libhiredis-dev) exit 1 ;; esac
printf installed
"""
APT_GET = """#!/bin/sh
echo "$*" >> "$CALLS"
case $* in
  -s*libzookeeper-st-dev*) echo 'Remv libzookeeper-mt-dev [3.8.0-11]' ;;
  *--no-remove*libzookeeper-st-dev*) exit 100 ;;
esac
"""


def check(tally):
    code, said, calls = install("build")
    tally.check("nothing is missing: apt is not asked", (code, said, calls) == (0, "", []), said)

    code, said, calls = install("build", "engines")
    tally.check("a package that would displace another is an error, and nothing is installed",
                code == 69 and all(words.startswith("-s ") for words in calls),
                f"{code}\n{said}{calls}")
    tally.check("both are named, and what to do",
                "libzookeeper-st-dev" in said and "displace libzookeeper-mt-dev" in said
                and "apt-get install libzookeeper-st-dev" in said
                and "libhiredis-dev" not in said, said)

    code, said, calls = install("--optional", "engines")
    done = [words for words in calls if not words.startswith("-s ")]
    tally.check("one that may be missing is left out, the others are installed, none is removed",
                code == 0 and len(done) == 1 and "--no-remove libhiredis-dev" in done[0]
                and "st-dev" not in done[0] and "displace libzookeeper-mt-dev" in said,
                f"{code}\n{said}{calls}")


def install(*words):
    """(exit code, what was said, the calls of apt-get)"""
    with tempfile.TemporaryDirectory(prefix="crosslock-packages-") as name:
        folder = Path(name)
        for program, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET),
                              ("sudo", '#!/bin/sh\nexec "$@"\n')):
            (folder / program).write_text(text)
            (folder / program).chmod(0o755)
        calls = folder / "calls"
        calls.touch()
        code, said = run([ROOT / "cmake/install-packages", *words], 60,
                         env=environment(PATH=f"{folder}:{os.environ['PATH']}", CALLS=str(calls)))
        return code, said, calls.read_text().splitlines()
