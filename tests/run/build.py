"""Configuring and building, once per preset and set of targets."""

import os
import subprocess
import sys

from tally import ROOT

_configured = set()


def build(preset, *targets):
    """Builds targets of a preset and returns its build folder. Ends the run when it fails:
    nothing can be tested then."""
    folder = ROOT / "build" / preset
    log = ROOT / "build" / f"{preset}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("a") as out:
        if preset not in _configured:
            out.truncate(0)
            _call(["cmake", "--preset", preset], out, log)
            _configured.add(preset)
        _call(["cmake", "--build", folder, "--target", *targets], out, log)
    return folder


def _call(command, out, log):
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode == 0:
        return
    out.flush()
    print("\n".join(log.read_text(errors="replace").splitlines()[-60:]))
    print(f"FAILED to build: {' '.join(words)} (all of it: {os.path.relpath(log)})")
    print("0 passed, 1 failed")
    sys.exit(1)
