"""Locks of Curator and kazoo and ours on one name of a real ZooKeeper: they exclude each other in
every kind of lock that both have, and are served in the order of coming."""

from actors import until
from build import build
from zookeeper_actors import ZooKeeper, ZooKeeperStage

SPAN_MS = 2500
INSIDE_MS = 2
# First come, first served: nobody who comes again at once gets far ahead of the others.
MOST_UNEQUAL = 1.25
KAZOO = "&naming=kazoo"


def check(tally, preset):
    program = build(preset, "crosslock-interop-zookeeper") / "tests" / "crosslock-interop-zookeeper"
    with ZooKeeper() as server, ZooKeeperStage(server, program) as stage:
        for case in CASES:
            try:
                case(tally, stage)
            except (RuntimeError, OSError, ValueError, IndexError) as failure:
                tally.check(case.__name__, False, repr(failure))


class Crowd:
    """Everybody counts at once in one file."""

    def __init__(self, stage, verb, file, parts, inside_ms=INSIDE_MS):
        """Parts are (actor, kind, name)."""
        path = stage.file(file)
        for actor, kind, name in parts:
            actor.begin(verb, kind, name, path, SPAN_MS, inside_ms)
        self.did, self.kinds, self.story = [], [kind for _, kind, _ in parts], ""
        self.wrong, self.most = 0, 0
        for actor, kind, _ in parts:
            said = actor.answer()
            word, *numbers = said.split()
            if word != "did":
                raise RuntimeError(f"{actor.name} did not count: {said}")
            times, wrong, most = map(int, numbers)
            self.did.append(times)
            self.wrong += wrong
            self.most = max(self.most, most)
            self.story += f"{actor.name} {kind}: {times} times, {wrong} wrong; "
        self.kept = int(path.read_text())
        self.story += f"{self.kept} kept, at most {self.most} at once"

    def written(self):
        return sum(times for times, kind in zip(self.did, self.kinds) if kind != "read")


def a_mixed_crowd_loses_nothing(tally, stage, what, parts):
    """With locks nothing is lost, and everybody has an equal share; without them, things are."""
    file = what.replace(" ", "-")
    bare = Crowd(stage, "count_unlocked", file + "-bare", parts)
    tally.check(f"{what}: without locks, updates are lost", bare.kept < bare.written(), bare.story)
    crowd = Crowd(stage, "count", file, parts)
    tally.check(f"{what}: no update is lost", crowd.kept == crowd.written() > 0, crowd.story)
    tally.check(f"{what}: no reader sees a writer", crowd.wrong == 0, crowd.story)
    for kind in set(crowd.kinds) - {"read"}:
        alike = [times for times, its in zip(crowd.did, crowd.kinds) if its == kind]
        tally.check(f"{what}: equal shares of each {kind}",
                    max(alike) <= MOST_UNEQUAL * min(alike), crowd.story)
    return bare, crowd


def mutex_with_curator(tally, stage):
    name = "stock/sku-42"
    a_mixed_crowd_loses_nothing(tally, stage, "mutex and InterProcessMutex", [
        (stage.ours(), "mutex", name), (stage.curator(), "mutex", name),
        (stage.ours(), "mutex", name), (stage.curator(), "mutex", name)])


def readers_and_writers_with_curator(tally, stage):
    name = "shared/prices"
    what = "shared_mutex and InterProcessReadWriteLock"
    bare, _ = a_mixed_crowd_loses_nothing(tally, stage, what, [
        (stage.ours(), "write", name), (stage.curator(), "write", name),
        (stage.ours(), "read", name), (stage.curator(), "read", name)])
    tally.check("without locks, readers see writers", bare.wrong > 0, bare.story)


def semaphore_of_one_with_curator(tally, stage):
    name = "pool/single"
    a_mixed_crowd_loses_nothing(tally, stage, "semaphore of 1 and InterProcessSemaphoreMutex", [
        (stage.ours(), "semaphore_mutex", name), (stage.curator(), "semaphore_mutex", name),
        (stage.ours(), "semaphore_mutex", name), (stage.curator(), "semaphore_mutex", name)])


def several_locks_with_curator(tally, stage):
    both, one = "multi/a,multi/b", "multi/b"
    a_mixed_crowd_loses_nothing(tally, stage, "multi_lock and InterProcessMultiLock", [
        (stage.ours(), "multi", both), (stage.curator(), "multi", both),
        (stage.ours(), "mutex", one), (stage.curator(), "mutex", one)])


def permits_with_curator(tally, stage):
    kind, name = "permits:3", "pool/workers"
    parts = [(stage.ours(), kind, name) for _ in range(3)]
    parts += [(stage.curator(), kind, name) for _ in range(3)]
    inside_ms = 10  # so long that three are inside before the first has left
    bare = Crowd(stage, "count_unlocked", "permits-bare", parts, inside_ms)
    tally.check("without locks, more than three are inside", bare.most > 3, bare.story)
    crowd = Crowd(stage, "count", "permits", parts, inside_ms)
    tally.check("semaphore and InterProcessSemaphoreV2: three inside, never more",
                crowd.most == 3, crowd.story)
    tally.check("semaphore and InterProcessSemaphoreV2: nobody starves",
                min(crowd.did) * 2 >= max(crowd.did), crowd.story)


def locks_of_kazoo(tally, stage):
    name = "stock/by-kazoo"
    a_mixed_crowd_loses_nothing(tally, stage, "mutex and kazoo's Lock", [
        (stage.ours(KAZOO), "mutex", name), (stage.kazoo(), "mutex", name),
        (stage.ours(KAZOO), "mutex", name), (stage.kazoo(), "mutex", name)])
    name = "shared/by-kazoo"
    what = "shared_mutex and kazoo's ReadLock and WriteLock"
    bare, _ = a_mixed_crowd_loses_nothing(tally, stage, what, [
        (stage.ours(KAZOO), "write", name), (stage.kazoo(), "write", name),
        (stage.ours(KAZOO), "read", name), (stage.kazoo(), "read", name)])
    tally.check("without locks, readers see kazoo's writers", bare.wrong > 0, bare.story)


def whoever_holds_keeps_the_others_out(tally, stage):
    ours, kazoo_like = stage.ours(), stage.ours(KAZOO)
    curator, kazoo = stage.curator(), stage.kazoo()
    pairs = [(ours, curator, kinds) for kinds in (
        ("mutex", "mutex"), ("write", "write"), ("read", "write"), ("write", "read"),
        ("permits:1", "semaphore_mutex"), ("permits:1", "permits:1"), ("multi", "multi"))]
    pairs += [(kazoo_like, kazoo, kinds) for kinds in (
        ("mutex", "mutex"), ("write", "write"), ("read", "write"), ("write", "read"))]
    for number, (our, other, (our_kind, other_kind)) in enumerate(pairs):
        first, second = (our, our_kind), (other, other_kind)
        for holder, guest in ((first, second), (second, first)):
            keeps_out(tally, f"alone/{number}", *holder, *guest)


def keeps_out(tally, name, holder, kind, guest, guest_kind):
    what = f"{kind} of {holder.name}, {guest_kind} of {guest.name}"
    taken = holder.tell("acquire", kind, name, 5000)
    refused = guest.tell("acquire", guest_kind, name, 0)
    waited = guest.tell("acquire", guest_kind, name, 100)
    tally.check(f"{what}: kept out", taken.startswith("in") and refused == waited == "busy",
                f"{taken}; {refused}; {waited}")
    guest.begin("acquire", guest_kind, name, 5000)
    left = holder.tell("release")
    said = guest.answer()
    tally.check(f"{what}: in after the release", left.startswith("out") and said.startswith("in"),
                f"{left}; {said}")
    if said.startswith("in"):
        guest.tell("release")


def served_in_the_order_of_coming(tally, stage):
    crowds = {
        "curator": [stage.ours(), stage.curator(), stage.ours(), stage.curator()],
        "kazoo": [stage.ours(KAZOO), stage.kazoo(), stage.ours(KAZOO), stage.kazoo()],
    }
    for what, (holder, *crowd) in crowds.items():
        for line in (crowd, crowd[::-1], [crowd[1], crowd[0], crowd[2]]):
            in_order(tally, stage, f"order/{what}", holder, line)


def in_order(tally, stage, name, holder, line):
    said = [holder.tell("acquire", "mutex", name, 5000)]
    for place, actor in enumerate(line):
        actor.begin("acquire", "mutex", name, 20000)
        until(lambda place=place: stage.in_line(name) == place + 2)
    let_go = holder
    for actor in line:
        left = let_go.tell("release")
        said += [left, actor.answer()]
        let_go = actor
    let_go.tell("release")
    words = [each.split()[0] for each in said]
    moments = [int(each.split()[1]) for each in said if " " in each]
    tally.check(f"{name}: one after another, as they came",
                words == ["in"] + ["out", "in"] * len(line) and moments == sorted(moments),
                "; ".join(said))


def readers_share_and_writers_downgrade(tally, stage):
    ours, curator = stage.ours(), stage.curator()
    our_guest, curators_guest = stage.ours(), stage.curator()
    name = "shared/downgraded"
    for writer, other, guest in ((ours, curator, our_guest), (curator, ours, curators_guest)):
        story = [writer.tell("acquire", "write", name, 5000),
                 other.tell("acquire", "read", name, 0),
                 writer.tell("downgrade"),
                 other.tell("acquire", "read", name, 5000),
                 guest.tell("acquire", "write", name, 0),
                 writer.tell("release"),
                 guest.tell("acquire", "write", name, 0)]
        guest.begin("acquire", "write", name, 5000)
        story += [other.tell("release"), guest.answer(), guest.tell("release")]
        words = [said.split()[0] for said in story]
        tally.check(f"a writer of {writer.name} downgrades beside a reader of {other.name}",
                    words == ["in", "busy", "shared", "in", "busy", "out", "busy", "out", "in",
                              "out"], "; ".join(story))


def readers_do_not_overtake_a_writer(tally, stage):
    ours, curator = stage.ours(), stage.curator()
    our_writer, curators_writer = stage.ours(), stage.curator()
    name = "shared/overtaken"
    for reader, writer, late in ((ours, curators_writer, curator), (curator, our_writer, ours)):
        first = stage.ours()
        said = [first.tell("acquire", "read", name, 5000)]
        writer.begin("acquire", "write", name, 5000)
        until(lambda: stage.in_line(name) == 2)
        said += [reader.tell("acquire", "read", name, 0), late.tell("acquire", "read", name, 0)]
        said += [first.tell("release"), writer.answer(), writer.tell("release")]
        words = [each.split()[0] for each in said]
        tally.check(f"readers do not overtake a waiting writer of {writer.name}",
                    words == ["in", "busy", "busy", "out", "in", "out"], "; ".join(said))


def other_kinds_are_conflicts(tally, stage):
    """Locks that would not see ours."""
    kazoo, curator = stage.kazoo(), stage.curator()
    for number, (other, kind, our_kind, named) in enumerate((
            (kazoo, "semaphore", "mutex", "kazoo's Semaphore"),
            (kazoo, "semaphore", "permits:3", "kazoo's Semaphore"),
            (kazoo, "mutex", "mutex", "naming=kazoo"),
            (curator, "read", "mutex", "InterProcessReadWriteLock"),
            (curator, "write", "mutex", "InterProcessReadWriteLock"),
            (curator, "mutex", "write", "no readers"),
            (curator, "mutex", "read", "no readers"))):
        name = f"kinds/{number}"
        taken = other.tell("acquire", kind, name, 5000)
        said = stage.ours().tell("acquire", our_kind, name, 0)
        other.tell("release")
        tally.check(f"{kind} of {other.name}, {our_kind} of ours: a conflict",
                    taken.startswith("in") and named in said, f"{taken}; {said}")


CASES = [
    other_kinds_are_conflicts,
    whoever_holds_keeps_the_others_out,
    served_in_the_order_of_coming,
    readers_share_and_writers_downgrade,
    readers_do_not_overtake_a_writer,
    mutex_with_curator,
    readers_and_writers_with_curator,
    semaphore_of_one_with_curator,
    several_locks_with_curator,
    permits_with_curator,
    locks_of_kazoo,
]
