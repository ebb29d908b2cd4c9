"""Locks of other libraries and ours on one name, on a real server: they exclude each other, nobody
frees what is another's, and nobody starves who was promised not to."""

import statistics
import time

from actors import Server, Stage, until
from build import build
from tally import run

# docs/engines/redis.md, "Sharing locks with other libraries".
LOOK_EVERY_MS = 50
RUN_MS, PAUSE_MS = 1000, 300  # of foreign=share
SECOND_MS = 1000
NAME = "shared/stock"


def check(tally, preset):
    program = build(preset, "crosslock-interop") / "tests" / "crosslock-interop"
    code, said = run(["tests/interop/install-npm-packages"], 300)
    if not tally.check("npm installs redlock", code == 0, said):
        return
    with Server() as server:
        for case in CASES:
            server.ask("FLUSHALL")
            with Stage(server, program) as stage:
                try:
                    case(tally, stage)
                except (RuntimeError, OSError, ValueError, IndexError) as failure:
                    tally.check(case.__name__, False, repr(failure))


def others(stage):
    return [stage.redis_py(), stage.redlock()]


def counted(stage, ours, foreign, verb, span_ms, our_pause_ms, foreign_pause_ms,
            ours_first=False):
    """Everybody counts at once, with a pause between two times. Returns how often each did, what
    to tell of them, and the number that is in the server at the end."""
    key = "shared/counter"
    stage.server.ask("DEL", key)
    for actor in ours:
        actor.begin(verb, NAME, key, span_ms, our_pause_ms)
    if ours_first:
        until(lambda: in_line(stage.server))
    for actor in foreign:
        actor.begin(verb, NAME, key, span_ms, foreign_pause_ms)
    did, story = [], []
    for actor in ours + foreign:
        word, times, longest = actor.answer().split()
        if word != "did":
            raise RuntimeError(f"{actor.name} did not count")
        did.append(int(times))
        story.append(f"{actor.name}: {times} times, waiting {int(longest) / 1e6:.0f} ms at most")
    kept = int(stage.server.ask("GET", key) or 0)
    return did, f"{kept} kept of {sum(did)}; " + ", ".join(story), kept


def without_locks_updates_are_lost(tally, stage):
    """Otherwise the next cases could not fail."""
    did, story, kept = counted(stage, [stage.ours(), stage.ours()], others(stage),
                               "count_unlocked", 1000, 0, 0)
    tally.check("without locks, updates are lost", 0 < kept < sum(did), story)


def nothing_is_lost_and_ours_do_not_starve(tally, stage):
    """The others take the lock again the moment they have let go of it."""
    span_ms = 6000
    ours = [stage.ours(), stage.ours()]
    foreign = [*others(stage), stage.redis_py()]
    did, story, kept = counted(stage, ours, foreign, "count", span_ms, 1, 0)
    tally.check("no update of a mixed crowd is lost", kept == sum(did), story)
    for times in did[:len(ours)]:
        tally.check("ours do not starve in a mixed crowd", times >= span_ms / SECOND_MS * 10, story)


def with_foreign_share_nobody_starves(tally, stage):
    """Three of ours without a pause between two times: somebody always waits in our line."""
    span_ms = 8000
    rounds = span_ms // (RUN_MS + PAUSE_MS)
    for query in ("", "?foreign=share"):
        ours = [stage.ours(query) for _ in range(3)]
        foreign = others(stage)
        did, story, kept = counted(stage, ours, foreign, "count", span_ms, 0, 10, ours_first=True)
        tally.check(f"no update is lost with '{query}'", kept == sum(did), story)
        least = min(did[len(ours):])
        if query:
            tally.check("with foreign=share the others get in after every run of ours",
                        least >= rounds - 2, story)
            tally.check("with foreign=share ours do not starve either",
                        min(did[:len(ours)]) >= span_ms / SECOND_MS * 10, story)
        else:
            tally.check("without it they starve: or else this case shows nothing",
                        least < rounds - 2, story)


def a_foreign_release_is_noticed_in_time(tally, stage):
    ours = stage.ours()
    for other in others(stage):
        delays = []
        for number in range(10):
            other.tell("acquire", NAME, 0, 10000)
            ours.begin("acquire", NAME, 5000, 0)
            until(lambda: in_line(stage.server))
            time.sleep(number * LOOK_EVERY_MS / 10 / 1000)  # at any time between two looks
            let_go = moment_of(other.tell("release", NAME), "out")
            delays.append((moment_of(ours.answer(), "in") - let_go) / 1e6)
            ours.tell("release", NAME)
        details = " ".join(f"{delay:.1f}" for delay in delays) + " ms"
        tally.check(f"half of the releases of {other.name} are noticed within the bound",
                    statistics.median(delays) <= LOOK_EVERY_MS, details)
        # Round trips, and what the machine takes to run three processes, come on top.
        tally.check(f"every release of {other.name} is noticed in time",
                    max(delays) <= 2 * LOOK_EVERY_MS, details)


def a_lock_without_expiry_is_respected(tally, stage):
    ours, other = stage.ours(), stage.redis_py()
    other.tell("acquire", NAME, 0, 0)
    tally.check("redis-py's lock has no expiry", stage.server.ask("PTTL", NAME) == -1)
    said = ours.tell("acquire", NAME, 1500, 0)
    tally.check("ours does not get in beside a lock without expiry", said == "busy", said)
    let_go = other.tell("release", NAME)
    said = ours.tell("acquire", NAME, 1000, 0)
    tally.check("ours gets in after its release",
                let_go.startswith("out") and said.startswith("in"), f"{let_go}; {said}")


def whoever_holds_keeps_the_others_out(tally, stage):
    ours = stage.ours()
    for other in others(stage):
        for holder, guest in ((ours, other), (other, ours)):
            first = holder.tell("acquire", NAME, 1000, 10000)
            said = guest.tell("acquire", NAME, 0, 10000)
            tally.check(f"{holder.name} keeps {guest.name} out",
                        first.startswith("in") and said == "busy", f"{first}; {said}")
            said = holder.tell("release", NAME)
            tally.check(f"{holder.name} lets go", said.startswith("out"), said)
            said = guest.tell("acquire", NAME, 1000, 10000)
            tally.check(f"{guest.name} gets in after {holder.name}", said.startswith("in"), said)
            guest.tell("release", NAME)


def only_the_owner_frees(tally, stage):
    """Each lets its lease end, and then frees what is meanwhile another's."""
    lease_ms = 150
    ours = stage.ours()
    for other in others(stage):
        for late, owner in ((ours, other), (other, ours)):
            late.tell("acquire", NAME, 1000, lease_ms)
            taken = owner.tell("acquire", NAME, 2000, 10000)
            value = stage.server.ask("GET", NAME)
            said = late.tell("release", NAME)
            kept = stage.server.ask("GET", NAME)
            tally.check(f"a late release by {late.name} leaves the lock of {owner.name} alone",
                        taken.startswith("in") and said == "not ours" and value and kept == value,
                        f"{taken}; {said}; {value} became {kept}")
            said = owner.tell("release", NAME)
            tally.check(f"{owner.name} still has it", said.startswith("out"), said)


def moment_of(answer, word):
    said, moment = answer.split()
    if said != word:
        raise RuntimeError(f"expected '{word}', heard '{answer}'")
    return int(moment)


def in_line(server):
    """Whether one of ours waits. The tag within the key is the engine's own affair."""
    script = "return #redis.call('KEYS', ARGV[1])"
    return server.ask("EVAL", script, 0, "crosslock:{*}:line:" + NAME) == 1


CASES = [
    without_locks_updates_are_lost,
    whoever_holds_keeps_the_others_out,
    only_the_owner_frees,
    a_lock_without_expiry_is_respected,
    a_foreign_release_is_noticed_in_time,
    nothing_is_lost_and_ours_do_not_starve,
    with_foreign_share_nobody_starves,
]
