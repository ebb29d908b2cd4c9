"""What `crosslock acquire` prints, as shells, systemd and other programs read it; and what is never
printed."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from running import PATIENCE, PROGRAM

NAME = 'it\'s 5 $ for "ü" \\ `x` $(y) !z'
GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")


def crosslock(*words, env, **options):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE,
                          env=env, **options)
    return done.returncode, done.stdout, done.stderr


def check(tally, env):
    check_formats(tally, env)
    check_silence(tally, env)
    check_scripts(tally, env)


def check_formats(tally, env):
    code, out, _ = crosslock("acquire", "--format", "json", "--lease", "20s", NAME, env=env)
    said = json.loads(out)
    tally.check("acquire --format json has its fields",
                code == 0 and list(said) == ["receipt", "name", "fence", "owner_id", "engine",
                                             "mode", "lease_ms"]
                and said["name"] == NAME and said["engine"] == "sqlite"
                and isinstance(said["fence"], str) and said["fence"] in said["receipt"]
                and said["owner_id"] in said["receipt"]
                and (said["mode"], said["lease_ms"]) == ("exclusive", 20000), out)
    for words in (["--json"], ["--format", "json"]):
        again = json.loads(crosslock("renew", *words, "--lease", "1m", said["receipt"],
                                     env=env)[1] or "{}")
        tally.check(f"renew {words} prints the same, with the lease it has now",
                    again == {**said, "lease_ms": 60000}, str(again))
    code, out, _ = crosslock("renew", "--format", "env", said["receipt"], env=env)
    expected = [said["receipt"], NAME, said["fence"], said["owner_id"], "sqlite"]
    for shell in ("sh", "bash", "zsh"):
        read = read_by_shell(shell, out)
        tally.check(f"--format env is read by {shell}", read in (None, expected), f"{out}{read}")
    tally.check("... and by the rules of systemd's EnvironmentFile",
                list(read_as_systemd(out).values()) == expected, f"{out}{read_as_systemd(out)}")
    tally.check("... whose own reader agrees", read_by_systemd(out) in (None, expected),
                f"{out}{read_by_systemd(out)}")
    crosslock("release", said["receipt"], env=env)


VARIABLES = ["RECEIPT", "NAME", "FENCE", "OWNER_ID", "ENGINE"]


def read_by_shell(shell, text):
    """The values; None where there is no such shell."""
    script = text + "".join(f'printf "%s\\n" "$CROSSLOCK_{each}"\n' for each in VARIABLES)
    try:
        done = subprocess.run([shell], input=script, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"]}, timeout=PATIENCE)
    except FileNotFoundError:
        return None
    return done.stdout.splitlines()


def read_as_systemd(text):
    """systemd.exec(5): in double quotes a backslash stands before one of "\\`$, else for itself."""
    found = {}
    for line in text.splitlines():
        key, value = line.split("=", 1)
        if value.startswith('"'):
            plain, rest = "", value[1:]
            while rest[0] != '"':
                escaped = rest[0] == "\\" and rest[1] in '"\\`$'
                plain += rest[1] if escaped else rest[0]
                rest = rest[2 if escaped else 1:]
            value = plain
        found[key] = value
    return found


def read_by_systemd(text):
    """By a program of systemd that reads such files; None where it is not installed. It goes on to
    replace variables, and so prints a name without any."""
    if not GENERATOR.exists():
        return None
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / ".config/environment.d"
        folder.mkdir(parents=True)
        (folder / "crosslock.conf").write_text(text.replace("\\$(y)", "(y)"))
        done = subprocess.run([GENERATOR], capture_output=True, text=True, timeout=PATIENCE,
                              env={"HOME": home})
    values = read_as_systemd("".join(line + "\n" for line in done.stdout.splitlines()
                                     if line.startswith("CROSSLOCK_")))
    return [value.replace(" (y)", " $(y)") for value in values.values()]


def check_silence(tally, env):
    secret = f"{'7' * 31}x"
    malformed = ["crosslock1:sqlite:" + secret, f"crosslock1:sqlite:{secret}:1:a", secret, "",
                 f"crosslock9:sqlite:{'7' * 32}:1:a", f"crosslock1:sqlite:{'7' * 32}:01:a",
                 f"crosslock1:sqlite:{'7' * 32}:1:%61", f"crosslock1:sqlite:{'7' * 32}:1:"]
    good = f"crosslock1:sqlite:{'7' * 32}:1:a"
    for command in ("renew", "release"):
        for text in malformed:
            code, out, err = crosslock(command, text, env=env)
            tally.check(f"{command} '{text}' is a usage error that does not quote it",
                        (code, out) == (64, "") and err != "" and "777" not in err, f"{code} {err}")
        for words in ([good, good], ["--no-such-option", good], [good, "more"]):
            code, out, err = crosslock(command, *words, env=env)
            tally.check(f"{command}: a wrong line of {len(words)} words shows no receipt",
                        (code, out) == (64, "") and "777" not in err, f"{code} {err}")
    code, _, err = crosslock("renew", "--lease", good, env=env)
    tally.check("... nor does a lease that was forgotten", code == 64 and "777" not in err, err)
    code, _, err = crosslock("release", "-", env=env, input="")
    tally.check("an empty pipe is a usage error", code == 64, err)


SYSTEMD_UNIT = """
crosslock acquire -w 10s --lease 1h --format env backup > "$RUNTIME_DIRECTORY/lock"  # ExecStartPre
set -a; . "$RUNTIME_DIRECTORY/lock"; set +a  # EnvironmentFile=%t/backup/lock
test "$CROSSLOCK_NAME" = backup  # ExecStart
! crosslock acquire -n backup
crosslock renew --lease 2h
crosslock release  # ExecStopPost
"""
CI_JOB = """
set -eu
receipt=$(crosslock acquire --lease 10m --owner "$JOB" deploy)
trap 'printf "%s\\n" "$receipt" | crosslock release -' EXIT
code=0; crosslock run -n deploy true || code=$?
test "$code" = 75
crosslock renew --lease 20m "$receipt"
"""


def check_scripts(tally, env):
    """As in the manual."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**env, "PATH": f"{PROGRAM.parent}:{env['PATH']}", "RUNTIME_DIRECTORY": folder,
               "JOB": "build 7"}
        for what, script in (("the steps of a systemd unit", "set -e\n" + SYSTEMD_UNIT),
                             ("a CI job", CI_JOB)):
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env,
                                  timeout=PATIENCE)
            tally.check(f"{what} work", done.returncode == 0, done.stdout + done.stderr)
        for name in ("backup", "deploy"):
            code, out, _ = crosslock("acquire", "-n", name, env=env)
            tally.check(f"... and leave {name} free", code == 0)
            crosslock("release", out.strip(), env=env)
