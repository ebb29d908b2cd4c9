"""The shell commands in docs/ are run, each page in an empty folder with a home of its own, so that
they cannot rot. `crosslock` stands there as the script of this repository."""

import re
import tempfile
from pathlib import Path

from tally import ROOT, environment, run

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.S | re.M)


def check(tally):
    for page in sorted((ROOT / "docs").rglob("*.md")):
        blocks = BLOCK.findall(page.read_text())
        if blocks:
            check_page(tally, page, blocks)


def check_page(tally, page, blocks):
    with tempfile.TemporaryDirectory(prefix="crosslock-docs-") as name:
        folder = Path(name)
        (folder / "crosslock").symlink_to(ROOT / "crosslock")
        for number, block in enumerate(blocks, 1):
            code, said = run(["bash", "-euc", block], 300, cwd=folder,
                             env=environment(HOME=name))
            tally.check(f"{page.relative_to(ROOT)}, shell block {number}", code == 0,
                        f"exit code {code}\n{said}")
