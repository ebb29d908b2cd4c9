"""./test: chooses the suites, runs them, prints each one's time and a last line of counts."""

import argparse
import sys
import time
import traceback

import inherited
import suites
from tally import Tally

USAGE = """./test [--preset dev|asan|tsan] [SUITE] [ENGINE...]
       ./test full [ENGINE...]
       ./test soak"""


def refuse(text):
    print(f"./test: {text}", file=sys.stderr)
    sys.exit(2)


def arguments():
    parser = argparse.ArgumentParser(
        usage=USAGE, description="Suites: " + ", ".join(suites.ALL) + ". Engines: "
        + ", ".join(suites.engines()) + ".")
    parser.add_argument("--preset", choices=["dev", "asan", "tsan"], default="dev")
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    words, known = given.words, [*suites.ALL, "full", "soak"]
    suite = words.pop(0) if words and words[0] in known else None
    for word in words:
        if word not in suites.engines():
            what = "engine" if suite else "suite or engine"
            refuse(f"there is no {what} '{word}'; suites: {', '.join(known)}; "
                   f"engines: {', '.join(suites.engines())}")
    return suite, given.preset, words


def plan(suite, preset, engines):
    """The steps of this run: (title, function of a tally)."""
    if suite == "soak":
        return [("soak", lambda tally: suites.soak(tally, preset))]
    if suite == "full":
        return suites.full(engines)
    if suite:
        if not suites.has_cases(suite):
            refuse(f"no engine has cases for the suite '{suite}' yet")
        return [suites.step(suite, preset, engines)]
    # The sanitizers say nothing about scripts, so only the programs run under them.
    chosen = suites.DEFAULT if preset == "dev" else suites.PROGRAMS
    return [suites.step(name, preset, engines) for name in chosen]


def run_step(title, work):
    print(f"== {title}", flush=True)
    tally = Tally(title)
    try:
        work(tally)
    except Exception:  # the other suites have something to say all the same
        tally.check("it ended by an exception", False, traceback.format_exc())
    print(f"== {title}: {tally.counts()}, {tally.seconds():.1f} s", flush=True)
    return tally


def main():
    inherited.reset_signals()
    suite, preset, engines = arguments()
    total = Tally("all")
    for title, work in plan(suite, preset, engines):
        total.add(run_step(title, work))
    print(f"all of it took {time.strftime('%H:%M:%S', time.gmtime(total.seconds()))}")
    print(total.counts())
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
