"""A real ZooKeeper server of a test's own, for the suites that are scripts."""

import random
import re
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
SHELL = "/usr/share/zookeeper/bin/zkCli.sh"
PATIENCE = 30
TICK_MS = 100


def said_by(port, word):
    """The answer to a four-letter word; empty when there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as talk:
            talk.sendall(word.encode())
            answer = b""
            while more := talk.recv(65536):
                answer += more
            return answer.decode()
    except OSError:
        return ""


def settings(folder, port):
    return "".join(f"{name}={value}\n" for name, value in {
        "dataDir": f"{folder}/data", "clientPort": port, "clientPortAddress": "127.0.0.1",
        "tickTime": TICK_MS, "minSessionTimeout": 400, "maxSessionTimeout": 60000,
        "maxClientCnxns": 0, "4lw.commands.whitelist": "*", "admin.enableServer": "false",
        "forceSync": "no", "preAllocSize": 1024}.items())


class ZooKeeper:
    """Serves at `address`, host:port, when it is made. Its sessions last 400 ms to a minute."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for _ in range(10):
            # Below those that the system gives out by itself, which others may just have closed.
            self.port = random.SystemRandom().randrange(20000, 32000)
            self.address = f"127.0.0.1:{self.port}"
            if self.start():
                return
        raise RuntimeError((self.folder / "zookeeper.log").read_text())

    def start(self):
        """True when it serves; false when the port was somebody else's."""
        config = self.folder / "zoo.cfg"
        config.write_text(settings(self.folder, self.port))
        with open(self.folder / "zookeeper.log", "w") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
                 "-Dzookeeper.jmx.log4j.disable=true",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", JARS, MAIN, config],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            if "Mode: " in said_by(self.port, "srvr"):
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def zookeeper_server(folder):
    server = ZooKeeper(folder)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def zookeeper_url(folder):
    with zookeeper_server(folder) as server:
        yield f"zk://{server.address}?tick={TICK_MS}ms"


def shell(url, *words):
    """What ZooKeeper's own shell says to one command; for a URL without a chroot."""
    address = url.split("://")[1].split("?")[0].split("@")[-1]
    return subprocess.run([SHELL, "-server", address, *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=PATIENCE).stdout


def claims(url, name):
    return re.findall(r"_c_[^], ]+", shell(url, "ls", f"/{name}"))


def delete_claims(url, name):
    for claim in claims(url, name):
        shell(url, "delete", f"/{name}/{claim}")
