"""redis-py's Lock, told by lines what to do (actors.py says what they mean). Argument: port."""

import sys
import time

import redis

PORT = int(sys.argv[1])
SERVER = redis.Redis(host="127.0.0.1", port=PORT)
held = None


def acquire(name, patience_ms, lease_ms):
    global held
    lease = int(lease_ms) / 1000 or None
    held = SERVER.lock(name, timeout=lease)
    patience = int(patience_ms) / 1000
    taken = held.acquire(blocking=patience > 0, blocking_timeout=patience or None)
    return f"in {time.monotonic_ns()}" if taken else "busy"


def release():
    moment = time.monotonic_ns()
    try:
        held.release()
    except redis.exceptions.LockError:
        return "not ours"
    return f"out {moment}"


def count(locked, name, key, span_ms, pause_ms):
    lock = SERVER.lock(name, timeout=30)
    times, longest = 0, 0
    end = time.monotonic() + int(span_ms) / 1000
    while time.monotonic() < end:
        asked = time.monotonic_ns()
        # A waiter must not be left behind when the others are done, nor wait for ever.
        if locked and not lock.acquire(blocking_timeout=int(span_ms) / 1000):
            break
        longest = max(longest, time.monotonic_ns() - asked)
        SERVER.set(key, int(SERVER.get(key) or 0) + 1)
        if locked:
            lock.release()
        times += 1
        time.sleep(int(pause_ms) / 1000)
    return f"did {times} {longest}"


def perform(verb, *words):
    if verb == "acquire":
        return acquire(*words)
    if verb == "release":
        return release()
    return count(verb == "count", *words)


print("ready", flush=True)
for line in sys.stdin:
    print(perform(*line.split()), flush=True)
