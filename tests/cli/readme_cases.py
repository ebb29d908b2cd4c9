"""The commands in README.md and docs/cli.md are run as they stand there, with programs of those
names that only say that they ran, and with places and a server of our own."""

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
# The blocks that are run here. A page with others has commands that nobody tests. What a user's
# program is built with (cmake, pkg-config) is tried by the package suite.
EXPECTED = {
    "README.md": {"sh": 2, "sh first": 1, "sh second": 1},
    "docs/cli.md": {"crontab": 2, "ini": 2},
}
NOT_COMMANDS = {"cpp", "cmake", "sql"}
README_LINES_MAX = 200
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def check(tally):
    count = len((ROOT / "README.md").read_text().splitlines())
    tally.check(f"README.md has at most {README_LINES_MAX} lines", count <= README_LINES_MAX,
                f"{count}: the details belong into docs/")
    check_links(tally)
    pages = {name: blocks_of(ROOT / name) for name in EXPECTED}
    for name, blocks in pages.items():
        tally.check(f"{name} has the commands that are tested",
                    {kind: len(texts) for kind, texts in blocks.items()} == EXPECTED[name],
                    str(blocks))
    readme, cli = pages["README.md"], pages["docs/cli.md"]
    with tempfile.TemporaryDirectory(prefix="crosslock-readme-") as folder:
        stage = Stage(Path(folder))
        check_two_commands(tally, stage, readme["sh"])
        check_terminals(tally, stage, readme)
        check_crontab(tally, stage, cli["crontab"])
        check_units(tally, stage, cli["ini"])


def check_links(tally):
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    anchors = {page.resolve(): anchors_of(page.read_text()) for page in pages}
    dead = []
    for page in pages:
        for target, anchor in LINK.findall(page.read_text()):
            if ":" in target:
                continue
            there = (page.parent / target).resolve() if target else page.resolve()
            if not there.exists() or anchor and anchor not in anchors.get(there, ()):
                dead.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    tally.check("every link of the pages leads somewhere", not dead, "\n".join(dead))


def anchors_of(text):
    """As GitHub names them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in HEADING.findall(text)}


def blocks_of(page):
    blocks = {}
    for kind, text in BLOCK.findall(page.read_text()):
        if kind not in NOT_COMMANDS:
            blocks.setdefault(kind, []).append(text)
    return blocks


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


def check_two_commands(tally, stage, blocks):
    first, second = blocks[0].splitlines()
    tally.check("README.md: the second command is this one", second.split()[0] == "./test"
                and (ROOT / "test").exists(), second)
    done = stage.start(first)
    out, err = done.communicate(timeout=PATIENCE)
    tally.check("README.md: the first command runs", (done.returncode, out)
                == (0, "one at a time\n"), f"{done.returncode} {out}{err}")
    tally.check("README.md: the other shell block builds a program with pkg-config",
                "pkg-config --cflags --libs crosslock-sqlite" in blocks[1], blocks[1])


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
    tally.check("docs/cli.md: the crontab line runs", (done.returncode, stage.ran())
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
        tally.check("docs/cli.md: of three hosts one runs the nightly job",
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
            tally.check(f"docs/cli.md: {key}={command.split(' ')[0]}...", done.returncode == 0,
                        f"{done.returncode} {err}")
    ran = stage.ran()
    tally.check("docs/cli.md: the units run what they name", ran == ["reindex --all", "exporter "],
                str(ran))
    listed = subprocess.run(["crosslock", "list", "--url", f"sqlite://{stage.folder}/locks.db",
                             "--json"], env=stage.env, capture_output=True, text=True)
    tally.check("docs/cli.md: nothing stays locked behind the units",
                (listed.returncode, listed.stdout) == (0, ""),
                listed.stdout + listed.stderr)
