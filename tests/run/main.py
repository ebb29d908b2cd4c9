"""./test: chooses the suites, runs them, prints each one's time and a last line of counts."""

import argparse
import signal
import sys
import time

import inherited
import suites
from lanes import Step, run_steps

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
    """The steps of this run."""
    if suite == "soak":
        return [Step("soak", lambda tally: suites.soak(tally, preset))]
    if suite == "full":
        return suites.full(engines)
    if suite:
        if not suites.has_cases(suite):
            refuse(f"no engine has cases for the suite '{suite}' yet")
        return [suites.step(suite, preset, engines)]
    # The sanitizers say nothing about scripts, so only the programs run under them.
    return suites.everyday(suites.DEFAULT if preset == "dev" else suites.PROGRAMS, preset, engines)


def main():
    inherited.reset_signals()
    suite, preset, engines = arguments()
    signal.signal(signal.SIGTERM, inherited.end_with_children)
    total = run_steps(plan(suite, preset, engines))
    print(f"all of it took {time.strftime('%H:%M:%S', time.gmtime(total.seconds()))}")
    print(total.counts())
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
