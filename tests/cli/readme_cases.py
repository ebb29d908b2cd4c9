"""The commands in README.md are run as they stand there, with programs of those names that only say
that they ran, and with places and a server of our own."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from doctor_cases import redis_server
from running import PATIENCE, PROGRAM
from tally import ROOT, environment

BLOCK = re.compile(r"^```(\w+(?: \w+)?)\n(.*?)^```", re.S | re.M)


def check(tally):
    page = (ROOT / "README.md").read_text()
    page = page.split("## The command\n")[1].split("\n## ")[0]
    blocks = {}
    for kind, text in BLOCK.findall(page):
        blocks.setdefault(kind, []).append(text)
    expected = {"sh first": 1, "sh second": 1, "crontab": 2, "ini": 2}
    tally.check("README.md has the commands that are tested",
                {kind: len(texts) for kind, texts in blocks.items()} == expected, str(blocks))
    with tempfile.TemporaryDirectory(prefix="crosslock-readme-") as folder:
        stage = Stage(Path(folder))
        check_terminals(tally, stage, blocks)
        check_crontab(tally, stage, blocks["crontab"])
        check_units(tally, stage, blocks["ini"])


class Stage:
    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "crosslock").symlink_to(ROOT / "crosslock")
        (folder / "bin/crosslock").symlink_to(PROGRAM)
        for name in ("sync-mail", "nightly-report", "reindex", "exporter"):
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\necho "{name} $*" >>{folder}/ran\n')
            program.chmod(0o755)
        self.env = environment(HOME=str(folder), XDG_STATE_HOME="", CROSSLOCK_URL="",
                               PATH=f"{folder}/bin:{os.environ['PATH']}")

    def start(self, script, env=None):
        return subprocess.Popen(["sh", "-c", script], cwd=self.folder, env=env or self.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ran(self):
        log = self.folder / "ran"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


def check_terminals(tally, stage, blocks):
    first = stage.start(blocks["sh first"][0])
    while subprocess.run(["sh", "-c", "crosslock show demo --json | grep -q owner_id"],
                         cwd=stage.folder, env=stage.env).returncode:
        time.sleep(0.05)
    begun = time.monotonic()
    second = stage.start(blocks["sh second"][0])
    out, err = second.communicate(timeout=PATIENCE)
    took = time.monotonic() - begun
    tally.check("README.md: two terminals contend for one lock",
                second.returncode == 0 and took > 5 and "not now" not in out
                and out.strip().endswith("my turn") and "demo" in out and "is busy" in err,
                f"after {took:.1f} s: {out}{err}")
    tally.check("README.md: the first one is not disturbed", first.wait() == 0)
    first.communicate()


def check_crontab(tally, stage, blocks):
    [often], [nightly] = ([line for line in text.splitlines() if " * " in line]
                          for text in blocks)
    command = often.split(maxsplit=5)[5]
    done = stage.start(command)
    done.communicate()
    tally.check("README.md: the crontab line runs", (done.returncode, stage.ran())
                == (0, ["sync-mail --quiet"]))
    with redis_server(str(stage.folder)) as url:
        command = nightly.split(maxsplit=5)[5]
        command = command.replace("redis://locks.example", url).replace("2m", "2s")
        hosts = []
        for _ in range(3):  # each begins when the job of the one before is over
            hosts.append(stage.start(command))
            time.sleep(0.3)
        codes = [host.wait() for host in hosts]
        for host in hosts:
            host.communicate()
        ran = stage.ran()
        tally.check("README.md: of three hosts one runs the nightly job",
                    (codes, ran) == ([0] * 3, ["nightly-report "]), f"{codes} {ran}")


def check_units(tally, stage, blocks):
    """systemd takes the words apart as a shell does, as far as they are used here."""
    for text in blocks:
        text = text.replace("/var/lib/jobs", str(stage.folder)).replace("/run", str(stage.folder))
        pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line]
        env = {k: v for k, v in stage.env.items() if k != "HOME"}
        env.update(value.split("=", 1) for key, value in pairs if key == "Environment")
        for key, command in pairs:
            if not key.startswith("Exec"):
                continue
            done = stage.start(command, env)
            _, err = done.communicate(timeout=PATIENCE)
            tally.check(f"README.md: {key}={command.split(' ')[0]}...", done.returncode == 0,
                        f"{done.returncode} {err}")
    ran = stage.ran()
    tally.check("README.md: the units run what they name", ran == ["reindex --all", "exporter "],
                str(ran))
    listed = subprocess.run(["crosslock", "list", "--url", f"sqlite://{stage.folder}/locks.db",
                             "--json"], env=stage.env, capture_output=True, text=True)
    tally.check("README.md: nothing stays locked behind the units",
                (listed.returncode, listed.stdout) == (0, ""),
                listed.stdout + listed.stderr)
