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


def start(folder, port):
    """The process when it serves; None when the port was somebody else's."""
    config = Path(folder) / "zoo.cfg"
    config.write_text(settings(folder, port))
    with open(Path(folder) / "zookeeper.log", "w") as log:
        server = subprocess.Popen(
            ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
             "-Djava.net.preferIPv4Stack=true", "-Dzookeeper.jmx.log4j.disable=true",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", JARS, MAIN, config],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        if "Mode: " in said_by(port, "srvr"):
            return server
        time.sleep(0.02)
    stop(server)
    return None


def stop(server):
    server.kill()
    server.wait()


@contextmanager
def zookeeper_server(folder):
    """Yields host:port. Its sessions last 400 ms to a minute."""
    for _ in range(10):
        # Below those that the system gives out by itself, which others may just have closed.
        port = random.SystemRandom().randrange(20000, 32000)
        if server := start(folder, port):
            try:
                yield f"127.0.0.1:{port}"
            finally:
                stop(server)
            return
    raise RuntimeError((Path(folder) / "zookeeper.log").read_text())


@contextmanager
def zookeeper_url(folder):
    with zookeeper_server(folder) as place:
        yield f"zk://{place}?tick={TICK_MS}ms"


def shell(url, *words):
    """What ZooKeeper's own shell says to one command; for a URL without a chroot."""
    place = url.split("://")[1].split("?")[0].split("@")[-1]
    return subprocess.run([SHELL, "-server", place, *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=PATIENCE).stdout


def claims(url, name):
    return re.findall(r"_c_[^], ]+", shell(url, "ls", f"/{name}"))


def delete_claims(url, name):
    for claim in claims(url, name):
        shell(url, "delete", f"/{name}/{claim}")
