"""A command with a child and a grandchild, all in one process group. Each prints its pid; `hear`:
each waits for a signal, prints its role and the name, and ends; `deaf`: none hears anything."""

import os
import signal
import sys

ALL = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
       signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, ALL)
role, children = "parent", 0
for younger in ("child", "grandchild"):
    if os.fork():
        children = 1
        break
    role = younger
os.write(1, f"{os.getpid()}\n".encode())
if sys.argv[1] == "deaf":
    while True:
        signal.sigwait(ALL)
heard = signal.sigwait(ALL)
for _ in range(children):
    os.wait()
os.write(1, f"{role} {signal.Signals(heard).name[3:]}\n".encode())
os._exit(5)
