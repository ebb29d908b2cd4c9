"""A private ZooKeeper server, and actors on it: our locks, Curator's and kazoo's. They do what they
are told by lines.

    acquire KIND NAME PATIENCE_MS           -> in MOMENT | busy
    release                                 -> out MOMENT | not ours  (moment: before it let go)
    downgrade                               -> shared                 (of an acquired `write`)
    count KIND NAME FILE SPAN_MS INSIDE_MS  -> did TIMES WRONG MOST
    count_unlocked ...                         the same, without the lock

Kinds: mutex, write, read; ours and Curator's also permits:N, semaphore_mutex (ours: a semaphore of
1), and multi (of names with commas between them). Counting is: read the number in the file, and
write it back one higher after INSIDE_MS; for `read`: read it again, and it is WRONG if it has
changed; for permits: make an entry in the folder FILE.d, and look how MOST were there at once.
Moments are CLOCK_MONOTONIC in ns, which all processes share."""

import queue
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from actors import HERE, PYTHON, Actor, until
from tally import environment, run

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
CURATOR = "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar"
# A virtual machine that is gone soon: starting fast counts more than running fast.
SMALL = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
TICK_MS = 200


class ZooKeeper:
    """One server on a port of its own, until the end of `with`."""

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = Path(tempfile.mkdtemp())
        settings = self.folder / "zoo.cfg"
        settings.write_text(
            f"tickTime={TICK_MS}\nminSessionTimeout={2 * TICK_MS}\nmaxSessionTimeout=60000\n"
            f"dataDir={self.folder / 'data'}\nclientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=ruok\n")
        self.process = subprocess.Popen(
            ["java", *SMALL, "-cp", JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
             settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(self.is_ready, 30)
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def is_ready(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
                link.sendall(b"ruok")
                return link.recv(4) == b"imok"
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Curator:
    """One virtual machine with many voices, each of which is an actor."""

    def __init__(self, server):
        self.voices = {}
        code, said = run(["javac", "-cp", CURATOR, "-d", server.folder,
                          HERE / "CuratorActor.java"], 120)
        if code != 0:
            raise RuntimeError(said)
        self.process = subprocess.Popen(
            ["java", *SMALL, "-cp", f"{server.folder}:{CURATOR}", "CuratorActor",
             str(server.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1, env=environment())
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self):
        for line in self.process.stdout:
            number, _, said = line.strip().partition(" ")
            self.voices[int(number)].said.put(said)

    def voice(self):
        made = Voice(self, len(self.voices))
        self.voices[made.number] = made
        return made

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Voice:
    """Of Curator; the same to its users as an Actor."""

    name = "Curator"

    def __init__(self, curator, number):
        self.curator = curator
        self.number = number
        self.said = queue.Queue()

    def begin(self, *words):
        self.curator.process.stdin.write(" ".join(map(str, (self.number, *words))) + "\n")
        self.curator.process.stdin.flush()

    def answer(self):
        try:
            return self.said.get(timeout=60)
        except queue.Empty:
            raise RuntimeError("Curator does not answer") from None

    def tell(self, *words):
        self.begin(*words)
        return self.answer()


class ZooKeeperStage:
    """The actors on one server; all of them end with it."""

    def __init__(self, server, program):
        self.server = server
        self.program = program
        self.actors = []
        self.machine = None
        self.looker = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for actor in self.actors:
            actor.end()
        if self.machine:
            self.machine.end()

    def ours(self, query=""):
        url = f"zk://127.0.0.1:{self.server.port}?tick={TICK_MS}ms&session=4s{query}"
        return self.enter("crosslock", [self.program, url])

    def kazoo(self):
        return self.enter("kazoo", [PYTHON, HERE / "kazoo_actor.py", self.server.port])

    def curator(self):
        if not self.machine:
            self.machine = Curator(self.server)
        return self.machine.voice()

    def file(self, name):
        """A number to count in, zero at first, and a folder for those who are inside."""
        path = self.server.folder / name
        path.write_text("0" * 12)
        Path(f"{path}.d").mkdir()
        return path

    def in_line(self, name):
        """How many stand in the line of a name."""
        if not self.looker:
            self.looker = self.kazoo()
        return int(self.looker.tell("children", f"/{name}"))

    def enter(self, name, command):
        actor = Actor(name, command)
        self.actors.append(actor)
        said = actor.answer()
        if said != "ready":
            raise RuntimeError(f"{name} does not get ready: {said}")
        return actor
