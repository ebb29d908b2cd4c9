"""./test: chooses the suites, runs them, prints each one's time and a last line of counts."""

import argparse
import os
import sys
import threading
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
    """The stages of this run: steps in order, and steps beside them. A step is a title and a
    function of a tally."""
    if suite is None and preset == "dev":
        return suites.everything(engines)
    return [(steps_of(suite, preset, engines), [])]


def steps_of(suite, preset, engines):
    if suite == "soak":
        return [("soak", lambda tally: suites.soak(tally, preset))]
    if suite == "full":
        return suites.full(engines)
    if suite:
        if not suites.has_cases(suite):
            refuse(f"no engine has cases for the suite '{suite}' yet")
        return [suites.step(suite, preset, engines)]
    # The sanitizers say nothing about scripts, so only the programs run under them.
    return [suites.step(name, preset, engines) for name in suites.PROGRAMS]


def run_step(title, work):
    print(f"== {title}", flush=True)
    tally = Tally(title)
    try:
        work(tally)
    except Exception:  # the other suites have something to say all the same
        tally.check("it ended by an exception", False, traceback.format_exc())
    print(f"== {title}: {tally.counts()}, {tally.seconds():.1f} s", flush=True)
    return tally


def run_steps(steps, total):
    for title, work in steps:
        total.add(run_step(title, work))


def run_idly(steps, total):
    # Of this thread, and of every process and thread that it starts.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    run_steps(steps, total)


def run_stage(steps, beside, total):
    others = Tally("beside")
    thread = threading.Thread(target=run_idly, args=(beside, others))
    thread.start()
    try:
        run_steps(steps, total)
    finally:
        thread.join()
    total.add(others)


def main():
    inherited.reset_signals()
    suite, preset, engines = arguments()
    total = Tally("all")
    for steps, beside in plan(suite, preset, engines):
        run_stage(steps, beside, total)
    print(f"all of it took {time.strftime('%H:%M:%S', time.gmtime(total.seconds()))}")
    print(total.counts())
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
