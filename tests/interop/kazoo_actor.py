"""kazoo's locks, told by lines what to do (zookeeper_actors.py says what they mean). Argument:
port."""

import os
import sys
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout, NoNodeError

SESSION = KazooClient(hosts=f"127.0.0.1:{sys.argv[1]}", timeout=4)
SESSION.start()
KINDS = {"mutex": SESSION.Lock, "write": SESSION.WriteLock, "read": SESSION.ReadLock,
         "semaphore": SESSION.Semaphore}
DIGITS = 12
held = None


def take(lock, patience_ms):
    patience = int(patience_ms) / 1000
    try:
        return lock.acquire(blocking=patience > 0, timeout=patience or None)
    except LockTimeout:
        return False


def acquire(kind, name, patience_ms):
    global held
    held = KINDS[kind](f"/{name}")
    return f"in {time.monotonic_ns()}" if take(held, patience_ms) else "busy"


def release():
    moment = time.monotonic_ns()
    return f"out {moment}" if held.release() else "not ours"


def number_in(file):
    return int(os.pread(file, DIGITS, 0))


def use(kind, file, inside_ms):
    before = number_in(file)
    time.sleep(int(inside_ms) / 1000)
    if kind == "read":
        return number_in(file) == before
    os.pwrite(file, f"{before + 1:0{DIGITS}}".encode(), 0)
    return True


def take_for_counting(lock, kind, end):
    """kazoo 2.8's ReadLock waits for writers behind it, too, who wait for it (kazoo issue 649): it
    must lose patience, and stand in line again."""
    if kind != "read":
        return take(lock, 20000)
    while not take(lock, 50):
        if time.monotonic() > end + 20:
            return False
    return True


def count(locked, kind, name, path, span_ms, inside_ms):
    lock = KINDS[kind](f"/{name}")
    file = os.open(path, os.O_RDWR)
    times, wrong = 0, 0
    end = time.monotonic() + int(span_ms) / 1000
    while time.monotonic() < end:
        if locked and not take_for_counting(lock, kind, end):
            return "never got in"
        if not use(kind, file, inside_ms):
            wrong += 1
        if locked and not lock.release():
            return "could not let go"
        times += 1
    os.close(file)
    return f"did {times} {wrong} 0"


def children(path):
    """For the suite itself: how many stand in line."""
    try:
        return str(len(SESSION.get_children(path)))
    except NoNodeError:
        return "0"


def perform(verb, *words):
    if verb == "acquire":
        return acquire(*words)
    if verb == "release":
        return release()
    if verb == "children":
        return children(*words)
    return count(verb == "count", *words)


print("ready", flush=True)
for line in sys.stdin:
    print(perform(*line.split()), flush=True)
SESSION.stop()
