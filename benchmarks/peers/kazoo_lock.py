"""kazoo's Lock for ./bench zookeeper. Arguments: port, name, clients, own|one; then as
benchmarks/peer_subject.hpp says. Clients of one process share a session."""

import sys
import threading
import time

from kazoo.client import KazooClient


def work(client, lock, until, turns):
    while time.monotonic_ns() < until:
        asked = time.monotonic_ns()
        lock.acquire()
        inside = time.monotonic_ns()
        left = time.monotonic_ns()
        lock.release()
        turns.append((client, asked, inside, left, time.monotonic_ns()))


def main():
    port, name, clients, kind = sys.argv[1:]
    session = KazooClient(hosts=f"127.0.0.1:{port}", timeout=10)
    session.start()
    turns, workers = [], []
    for client in range(int(clients)):
        own = f"/{name}/{client}" if kind == "own" else f"/{name}"
        workers.append((client, session.Lock(own)))
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
    print("\n".join(" ".join(map(str, turn)) for turn in turns), flush=True)
    session.stop()


main()
