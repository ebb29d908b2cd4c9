"""Configuring and building, once per preset and set of targets, by one process at a time: both
lanes of a run may want the same."""

import fcntl
import os
import subprocess
import sys

from tally import ROOT

_configured = set()
_built = set()


def build(preset, *targets):
    """Builds targets of a preset, unless that was done, and returns its build folder; without
    targets, it is configured only. Ends the run when it fails: nothing can be tested then."""
    folder = ROOT / "build" / preset
    log = ROOT / "build" / f"{preset}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        if preset not in _configured:
            out.truncate(0)
            # What users compile without it must be free of warnings, too.
            _call(["cmake", "--preset", preset, "-DCROSSLOCK_WERROR=ON"], out, log)
            _configured.add(preset)
        if targets and (preset, targets) not in _built:
            _call(["cmake", "--build", folder, "--target", *targets], out, log)
            _built.add((preset, targets))
    return folder


def _call(command, out, log):
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT,
                      stdin=subprocess.DEVNULL).returncode == 0:
        return
    out.flush()
    print("\n".join(log.read_text(errors="replace").splitlines()[-60:]))
    print(f"FAILED to build: {' '.join(words)} (all of it: {os.path.relpath(log)})")
    print("0 passed, 1 failed")
    sys.exit(1)
