"""Counting: what passed and failed, and how long each suite took."""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Tally:
    """The result of one suite, or the sum of several."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.started = time.monotonic()

    def check(self, what, good, details=""):
        """Counts one scripted check; a failure is printed with what is known about it."""
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {self.name}: {what}", flush=True)
            if details:
                print("    " + details.strip().replace("\n", "\n    "), flush=True)
        return good

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def seconds(self):
        return time.monotonic() - self.started

    def counts(self):
        not_played = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{not_played}"


def run(command, seconds=600, **options):
    """Runs a command from the root of the repository and returns (exit code, output). A command
    that hangs is killed and reported like one that crashed."""
    options.setdefault("cwd", ROOT)
    try:
        done = subprocess.run(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=seconds, **options)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as hung:
        said = hung.stdout or b""
        return -1, said.decode(errors="replace") + f"\nstill running after {seconds} s: killed"
    except OSError as missing:
        return -1, str(missing)


def gtest(tally, program, arguments=(), seconds=1800, side_by_side=1, parts=1):
    """Runs a GoogleTest program, its output shown, and counts its cases; in several processes that
    share the cases when those mostly wait. With several parts for each of them, whoever is done
    early takes another one. An empty share is no fault, an empty run is one. Returns the reports
    of those that wrote one."""
    before = tally.passed + tally.failed
    count = side_by_side * parts
    await_calm()
    with ThreadPoolExecutor(side_by_side) as pool:
        shares = [pool.submit(gtest_share, program, arguments, seconds, share, count)
                  for share in range(count)]
    results = [share.result() for share in shares]
    for code, why, report, _ in results:
        count_share(tally, program, code, why, report)
    most = max(stolen for _, _, _, stolen in results)
    if most > STOLEN_TOO_MUCH:
        print(f"the host took up to {most:.0%} of the CPU away meanwhile", flush=True)
    if tally.passed + tally.failed == before:
        tally.check(f"{program.name} ran no case", False, " ".join(map(str, arguments)))
    reports = [report for _, _, report, _ in results if report]
    print_slowest(reports)
    return reports


# Where the host gives our CPUs to others, a bound of 50 ms says nothing about us.
STOLEN_TOO_MUCH = 0.05


def cpu_times():
    """Of this machine since it was started: stolen by its host, and all."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in words]
    return ticks[7], sum(ticks)


def stolen_since(before):
    """The share of the CPU that the host has taken away since then."""
    now = cpu_times()
    return (now[0] - before[0]) / max(now[1] - before[1], 1)


def await_calm(longest=600):
    """Waits until the host leaves us our CPUs, and at most so long. Who does not want them is not
    robbed of them: all are kept busy for a moment to find out."""
    spin = "import time\nend = time.monotonic() + 0.7\nwhile time.monotonic() < end: pass"
    began = time.monotonic()
    while True:
        before = cpu_times()
        busy = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(os.cpu_count() or 1)]
        for each in busy:
            each.wait()
        stolen = stolen_since(before)
        if stolen <= STOLEN_TOO_MUCH:
            return
        if time.monotonic() - began > longest:
            print(f"the host still takes {stolen:.0%} of the CPU away", flush=True)
            return
        time.sleep(5)


def print_slowest(reports, count=12):
    cases = [(float(case["time"].rstrip("s")), f"{suite['name']}.{case['name']}")
             for report in reports for suite in report["testsuites"]
             for case in suite["testsuite"]]
    slow = [f"{name} {seconds:.0f} s" for seconds, name in sorted(cases, reverse=True)[:count]
            if seconds >= 5]
    if slow:
        print("slowest: " + ", ".join(slow), flush=True)


def gtest_share(program, arguments, seconds, share, of):
    """Returns the exit code, why, the JSON report, or None: the counts come from there, so a crash
    half way cannot be mistaken for a shorter run; and how much of the CPU was stolen."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [program, "--gtest_brief=1", f"--gtest_output=json:{report}", *arguments]
        shared = {**os.environ, "GTEST_TOTAL_SHARDS": str(of), "GTEST_SHARD_INDEX": str(share)}
        before = cpu_times()
        try:
            code = subprocess.run([str(word) for word in command], cwd=ROOT, timeout=seconds,
                                  stdin=subprocess.DEVNULL, env=shared).returncode
            why = f"exit code {code}"
        except subprocess.TimeoutExpired:
            code, why = -1, f"still running after {seconds} s: killed"
        found = json.loads(report.read_text()) if report.exists() else None
        return code, why, found, stolen_since(before)


def count_share(tally, program, code, why, counted):
    if counted is None:
        tally.check(f"{program.name} wrote no report", False, why)
        return
    failed = counted["failures"] + counted.get("errors", 0)
    ran = counted["tests"] - counted.get("disabled", 0) - skipped(counted)
    tally.passed += ran - failed
    tally.failed += failed
    tally.skipped += skipped(counted)
    if code != 0 and failed == 0:
        tally.check(f"{program.name} ended badly after its cases", False, why)


def skipped(report):
    cases = (case for suite in report["testsuites"] for case in suite["testsuite"])
    return sum(1 for case in cases if case.get("result") == "SKIPPED")


def last_counts(output):
    """The numbers of a last line `N passed, N failed`, or None."""
    lines = output.strip().splitlines() or [""]
    words = lines[-1].replace(",", "").split()
    if len(words) == 4 and words[1] == "passed" and words[3] == "failed":
        return int(words[0]), int(words[2])
    return None


def environment(**more):
    """Ours without what would lead a test to somebody's real server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CROSSLOCK_")}
    return {**kept, **more}
