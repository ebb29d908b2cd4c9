"""redis-py's Lock for ./bench redis. Arguments: port, seconds between two polls (0: its default),
name, clients, own|one; then as benchmarks/peer_subject.hpp says."""

import sys
import threading
import time

import redis


def work(client, lock, until, turns):
    while time.monotonic_ns() < until:
        asked = time.monotonic_ns()
        lock.acquire()
        inside = time.monotonic_ns()
        left = time.monotonic_ns()
        lock.release()
        turns.append((client, asked, inside, left, time.monotonic_ns()))


def main():
    port, poll, name, clients, kind = sys.argv[1:]
    options = {"sleep": float(poll)} if float(poll) else {}
    turns, workers = [], []
    for client in range(int(clients)):
        own = f"{name}/{client}" if kind == "own" else name
        server = redis.Redis(host="127.0.0.1", port=int(port))
        workers.append((client, server.lock(own, timeout=30, thread_local=False, **options)))
    for _, lock in workers:
        lock.acquire()
        lock.release()
    print("ready", flush=True)
    until = int(sys.stdin.readline())
    threads = [threading.Thread(target=work, args=(*each, until, turns)) for each in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(" ".join(map(str, turn)) for turn in turns))


main()
