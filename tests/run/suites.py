"""What each suite does. A suite is a function (tally, preset, engines)."""

import random
import subprocess
import sys
import threading

import fault_table
from build import build
from lanes import Step, alone
from tally import ROOT, environment, gtest, last_counts, run

for folder in ("tidy", "package", "cli", "interop"):
    sys.path.insert(0, str(ROOT / "tests" / folder))

import cli_suite  # noqa: E402
import interop_suite  # noqa: E402
import package_suite  # noqa: E402
import tidy_suite  # noqa: E402
import zookeeper_suite  # noqa: E402

SEEDS = 10_000
# Cases of engines with real processes wait for leases much of the time; with more of them than this
# two cores are busy throughout, and nobody is done sooner.
SIDE_BY_SIDE = 6
SANITIZED_SIDE_BY_SIDE = 4
# These measure how soon something is seen, and disturb each other more.
FAULTS_SIDE_BY_SIDE = 3
# Engines with a stage in the fault suite, and the rows of the matrix that every run plays.
FAULTY = sorted(path.stem for path in (ROOT / "tests" / "faults" / "stages").glob("*.cpp"))
# Engines that the thread sanitizer is run on. The C client of ZooKeeper is not compiled with it,
# but one thread at a time is in it, by mutexes that the sanitizer sees.
THREAD_SANITIZED = ["memory", "redis", "sqlite", "zookeeper"]
EVERYDAY_ROWS = [f"F{row}_*" for row in (1, 2, 4, 5, 10, 14, 15, 31, 34)]


def engines():
    return sorted(path.name for path in (ROOT / "src" / "engines").iterdir() if path.is_dir())


EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.cpp"))
# The programs of each suite; the cases of cli/ run those that users run.
PARTS = {
    "unit": ["crosslock-unit", *(f"example-{name}" for name in EXAMPLES)],
    "cli": ["crosslock", "crosslock-completion", "crosslock-bench"],
    "simulation": ["crosslock-simulation", "crosslock-simulation-mutants"],
    "conformance": ["crosslock-conformance"],
    "faults": ["crosslock-faults", "crosslock-faults-mutants"],
    "interop": ["crosslock-interop", "crosslock-interop-zookeeper"],
}


def preset_of(suite, preset):
    return "release" if suite == "cli" else preset


def parts(suite, preset):
    """Builds them, if there are any, and returns the build folder."""
    targets = PARTS.get(suite)
    return build(preset_of(suite, preset), *targets) if targets else None


def unit(tally, preset, _engines):
    folder = parts("unit", preset)
    gtest(tally, folder / "tests" / "crosslock-unit")
    for name in EXAMPLES:
        code, said = run([folder / "examples" / f"example-{name}"], 60,
                         env=environment(CROSSLOCK_URL="memory:"))
        tally.check(f"examples/{name}.cpp runs", code == 0, f"exit code {code}\n{said}")


def simulation(tally, preset, _engines, seeds=SEEDS):
    folder = parts("simulation", preset) / "tests"
    counted(tally, [folder / "crosslock-simulation", "--seeds", seeds])
    counted(tally, [folder / "crosslock-simulation-mutants"])


def counted(tally, command, seconds=7200):
    """Runs a program that shows its progress and ends with a line of counts."""
    words = [str(word) for word in command]
    lines = []
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        watchdog = threading.Timer(seconds, program.kill)
        watchdog.daemon = True
        watchdog.start()
        for line in program.stdout:
            print(line, end="", flush=True)
            lines.append(line)
        code = program.wait()
        watchdog.cancel()
    counts = last_counts("".join(lines))
    if counts:
        tally.passed += counts[0]
        tally.failed += counts[1]
    good = counts is not None and (code == 0) == (counts[1] == 0)
    if not good:
        tally.check(" ".join(words), False, f"exit code {code}, last line: {lines[-1:]}")


def conformance(tally, preset, chosen):
    folder = parts("conformance", preset)
    # A case of one engine is called `engine/...` or `.../engine`.
    patterns = ":".join(f"{name}/*:*/{name}" for name in chosen)
    gtest(tally, folder / "tests" / "crosslock-conformance",
          [f"--gtest_filter={patterns}"] if chosen else [],
          side_by_side=SIDE_BY_SIDE if preset == "dev" else SANITIZED_SIDE_BY_SIDE, parts=4)


def faults(tally, preset, chosen, rows=EVERYDAY_ROWS):
    named = [name for name in chosen or FAULTY if name in FAULTY]
    if not named:
        print(f"no row of the fault matrix is about {', '.join(chosen)}")
        return
    folder = parts("faults", preset)
    patterns = ":".join([f"{name}*.{row}" for name in named for row in rows] + ["fault_stages.*"])
    with alone():
        reports = gtest(tally, folder / "tests" / "crosslock-faults",
                        [f"--gtest_filter={patterns}"], side_by_side=FAULTS_SIDE_BY_SIDE)
        if "zookeeper" in named:
            gtest(tally, folder / "tests" / "crosslock-faults-mutants")
    for name in named:
        print(fault_table.of(name, reports), flush=True)


def cli(tally, preset, _engines):
    parts("cli", preset)
    cli_suite.check(tally)


def package(tally, _preset, _engines):
    package_suite.check(tally)


def tidy(tally, _preset, _engines):
    tidy_suite.check(tally)


def interop(tally, preset, chosen):
    parts = {"redis": interop_suite, "zookeeper": zookeeper_suite}
    named = [name for name in parts if not chosen or name in chosen]
    if not named:
        print(f"no other library shares locks of {', '.join(chosen)}")
    for name in named:
        parts[name].check(tally, preset)


def fuzz(tally, chosen, seconds=60):
    for name, what in (("url", "what users write"), ("redis", "what a Redis server says"),
                       ("zookeeper", "what stands in ZooKeeper's tree")):
        if chosen and name not in chosen:
            continue
        build("fuzz", f"crosslock-fuzz-{name}")
        corpus = ROOT / "tests" / "fuzz" / "corpus" / name
        found = ROOT / "build" / "fuzz" / "found" / name
        found.mkdir(parents=True, exist_ok=True)
        code, said = run([f"build/fuzz/tests/crosslock-fuzz-{name}", f"-max_total_time={seconds}",
                          f"-artifact_prefix={found}/", found, corpus], seconds + 60)
        tally.check(f"fuzz {what}", code == 0, said[-4000:])


def soak(tally, preset):
    """New random seeds until one fails or somebody presses Ctrl-C."""
    program = build(preset, "crosslock-simulation") / "tests" / "crosslock-simulation"
    try:
        while tally.failed == 0:
            first = random.SystemRandom().randrange(1 << 40)
            counted(tally, [program, "--first", first, "--seeds", SEEDS])
    except KeyboardInterrupt:
        print("stopped")


# In the order of a run. The longest that mostly waits is first: meanwhile the rest is compiled.
ALL = {
    "conformance": conformance, "faults": faults, "unit": unit, "cli": cli, "interop": interop,
    "tidy": tidy, "simulation": simulation, "package": package, "behaviour": None,
}
DEFAULT = [name for name, work in ALL.items() if work]
PROGRAMS = ["conformance", "faults", "unit", "simulation"]
# These compute, and how long they take says nothing.
COMPUTING = ["tidy", "simulation", "package"]


def has_cases(suite):
    return ALL[suite] is not None


def step(suite, preset, chosen):
    title = suite if preset == "dev" else f"{suite} ({preset})"
    if chosen:
        title += " " + " ".join(chosen)
    return Step(title, lambda tally: ALL[suite](tally, preset, chosen), suite in COMPUTING)


def built_ahead(suite, preset):
    """Compiles what a suite needs behind, before its turn comes in front."""
    return Step(f"building {suite} ({preset_of(suite, preset)})",
                lambda _tally: parts(suite, preset), behind=True)


def everyday(names, preset, chosen):
    ahead = [built_ahead(name, preset) for name in names if name in PARTS and name not in COMPUTING]
    return ahead + [step(name, preset, chosen) for name in names]


def full(chosen):
    """Everything, then the sanitizers with fewer seeds, and what takes too long for every day. With
    engines named: what concerns them. The simulation plays on the memory engine alone."""
    simulated = not chosen or "memory" in chosen
    names = [name for name in DEFAULT
             if name != "faults" and (simulated or name != "simulation")]
    steps = [*everyday(names, "dev", chosen), built_ahead("faults", "dev"),
             Step("faults, every row", lambda tally: faults(tally, "dev", chosen, rows=["*"]))]
    covered = [name for name in chosen or THREAD_SANITIZED if name in THREAD_SANITIZED]
    for preset, whom in (("asan", chosen), ("tsan", covered)):
        if preset == "tsan" and not covered:
            continue
        steps += everyday(["conformance", "faults", "unit"], preset, whom)
        if simulated:
            steps.append(Step(f"simulation ({preset})", lambda tally, preset=preset:
                              simulation(tally, preset, whom, SEEDS // 10), behind=True))
    if simulated:
        steps.append(Step("simulation, many seeds",
                          lambda tally: simulation(tally, "dev", chosen, 10 * SEEDS), behind=True))
    steps.append(Step("fuzz", lambda tally: fuzz(tally, chosen), behind=True))
    if not chosen:
        steps.append(Step("clang-tidy", tidy_suite.check_with_clang_tidy, behind=True))
    return steps
