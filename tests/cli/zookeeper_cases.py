"""The command line on a ZooKeeper server of our own: what only this engine does or refuses. What
all do is in the other files."""

import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from doctor_cases import doctor, findings
from look_stage import PYTHON, ask, holder, objects, shown
from running import once
from tally import environment
from zookeeper_server import claims, delete_claims, shell, zookeeper_server

SECRET = "qzwx"
KAZOO = """
import sys
from kazoo.client import KazooClient
client = KazooClient(hosts=sys.argv[1])
client.start()
with client.Lock("/" + sys.argv[2], "the other library"):
    print("held", flush=True)
    sys.stdin.read()
client.stop()
"""


def check(tally):
    check_urls(tally)
    check_nobody(tally)
    with tempfile.TemporaryDirectory(prefix="crosslock-zookeeper-") as folder:
        with zookeeper_server(folder) as server:
            address, url = server.address, f"zk://{server.address}?tick=100ms"
            check_sessions(tally, address)
            check_hosts(tally, address)
            check_receipts(tally, url)
            check_nodes(tally, url)
            check_kazoo(tally, f"{url}&naming=kazoo")
            check_removal(tally, url)
            check_user(tally, folder, address)
            check_doctor(tally, address)
            check_single(tally, address)
            check_outage(tally, server)
            check_end_of_server(tally, server)


def check_urls(tally):
    for url, named in [("zk://", "host"), ("zk://h:0", "port"), ("zk://h:65536", "port"),
                       ("zk://h:2181,h:x", "port"), (f"zk://:{SECRET}@h", "user"),
                       (f"zk://a%3Ab:{SECRET}@h", "colon"), ("zk://h?foo=1", '"foo"'),
                       (f"zk://ann:{SECRET}@h?foo=1", '"foo"'), ("zk://h?tick=0", "'tick'"),
                       ("zk://h?tick=soon", '"tick"'), ("zk://h?session=", '"session"'),
                       ("zk://h?naming=go", "'naming'"), ("zk://h?strategy=herd", "'strategy'"),
                       ("zk://h//a", "'//a'"), ("zk://h/a/../b", "'/a/../b'"),
                       ("zk://h?session=7s", "7000 ms"), ("zk://h?session=25h", "24 h"),
                       ("zk://h?session=3s&tick=1s", "four ticks of 1000 ms")]:
        code, out, err = once("--url", url, "a", "echo", "ran", env=environment())
        tally.check(f"{url} is 78, and says what is wrong with it",
                    (code, out) == (78, "") and named in err and SECRET not in err,
                    f"{code} {out}{err}")
    code, out, err = once("--url", "zk://h", "--lease", "1s", "a", "true", env=environment())
    tally.check("a lease that is too short for a session is a usage error that speaks of leases",
                (code, out) == (64, "") and "lease" in err and "1000 ms" in err, f"{code} {err}")


def check_nobody(tally):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        url = f"zk://ann:{SECRET}@{address}"
        for words in (["run", "a", "--", "true"], ["list"], ["doctor"]):
            code, out, err = ask(url, *words)
            tally.check(f"{words[0]}: no ZooKeeper server at the port is 69",
                        code == 69 and address in out + err and SECRET not in out + err,
                        f"{code} {out}{err}")


def check_sessions(tally, address):
    with holder(f"zk://{address}?tick=100ms&session=3s", "session", "-v") as held:
        seen = shown(f"zk://{address}?tick=100ms", "session")["holders"][0]
        tally.check("the lease is the session's", seen["lease_left_ms"] == 3000, str(seen))
        tally.check("the fence is the transaction of the node, times 4096",
                    int(held.fence) % 4096 == 0 and seen["fence"] == held.fence, str(seen))
        _, _, err = held.end()
        tally.check("run -v says the session's lease", "lease 3.0s" in err, err)
    code, _, err = once("--url", f"zk://{address}?tick=20s&session=90s", "a", "true",
                        env=environment())
    tally.check("a session that the server makes shorter than four ticks is refused",
                code == 78 and "60000 ms" in err and "20000 ms" in err, f"{code} {err}")


def check_hosts(tally, address):
    for url in (f"zookeeper://{address}?tick=100ms", f"zk://127.0.0.1:1,{address}?tick=100ms",
                f"zk://{address},127.0.0.1:1/ch/root?tick=100ms"):
        code, out, err = once("--url", url, "a", "echo", "ran", env=environment())
        tally.check(f"{url.replace(address, 'ADDRESS')} names the server", (code, out, err)
                    == (0, "ran\n", ""), f"{code} {out}{err}")


def check_receipts(tally, url):
    for words in (["acquire", "a"], ["acquire", "-n", "--lease", "1s", "a"]):
        code, out, err = ask(url, *words)
        tally.check(f"{words}: there are no receipts of sessions: 78, and why",
                    (code, out) == (78, "") and "zookeeper" in err and "crosslock hold" in err,
                    f"{code} {out}{err}")
    tally.check("acquire has taken nothing", objects(url, "list", "--json") == [])


def check_nodes(tally, url):
    """Where other libraries look for it."""
    for name, path in (("stock/sku-42", "stock/sku-42"), ("two words", "two%20words"),
                       ("zookeeper", "%7Aookeeper"), ("locks", "locks"), ("a/locks", "a/%6Cocks")):
        with holder(url, name) as held:
            listed = [each["name"] for each in objects(url, "list", "--json")]
            found = claims(url, path)
            tally.check(f"'{name}' is at /{path}, and is listed",
                        listed == [name] and len(found) == 1
                        and held.owner_id in found[0].replace("-", ""), f"{listed} {found}")
    for options, kind in (([], "-lock-"), (["-x"], "-__WRIT__"), (["-s"], "-__READ__")):
        with holder(url, "kind", *options):
            found = claims(url, "kind")
            tally.check(f"run {' '.join(options)} claims as {kind}",
                        len(found) == 1 and kind in found[0], str(found))
    with holder(f"{url}&naming=kazoo", "kazoo") as held:
        said = shell(url, "ls", "/kazoo")
        tally.check("naming=kazoo writes what kazoo writes",
                    f"{held.owner_id}__lock__00000000" in said, said)


@contextmanager
def kazoo_lock(url, name):
    """A Lock of kazoo, which is held."""
    address = url.split("://")[1].split("?")[0]
    with subprocess.Popen([PYTHON, "-c", KAZOO, address, name], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as other:
        try:
            other.stdout.readline()
            yield
        finally:
            other.stdin.close()


def check_kazoo(tally, url):
    with kazoo_lock(url, "stock/shared"):
        listed = objects(url, "list", "--json")
        one = listed[0]["holders"][0] if listed else {}
        tally.check("a lock of kazoo is a foreign holder, and is listed",
                    [each["name"] for each in listed] == ["stock/shared"]
                    and one.get("foreign") is True and one.get("lease_left_ms", 0) is None,
                    str(listed))
        code, out, err = ask(url, "run", "-n", "stock/shared", "--", "echo", "ran")
        tally.check("it keeps ours out", (code, out) == (75, ""), f"{code} {out}{err}")
        code, _, err = ask(url, "break", "stock/shared", "--owner-id", one["owner_id"], "--yes")
        tally.check("it can be broken", code == 0 and shown(url, "stock/shared")["holders"] == [],
                    f"{code} {err}")


def check_removal(tally, url):
    with holder(url, "removed") as held:
        delete_claims(url, "removed")
        code, _, err = held.end(0)
        tally.check("a run whose node is removed by hand is told, and exits with 79",
                    code == 79 and "'removed' was lost" in err, f"{code} {err}")


def check_user(tally, folder, address):
    ours, secret_file = f"zk://ann:{SECRET}@{address}/ann?tick=100ms", Path(folder) / "password"
    secret_file.write_text(f"{SECRET}\n")
    by_file = {"CROSSLOCK_PASSWORD_FILE": str(secret_file)}
    tally.check("a user makes nodes of its own", once("--url", ours, "a", "true")[0] == 0)
    code, out, err = ask(f"zk://ann@{address}/ann?tick=100ms", "run", "-v", "a", "--", "true",
                         **by_file)
    tally.check("its password may come from a file, and is not shown",
                code == 0 and SECRET not in out + err, f"{code} {out}{err}")
    for other in ("", "ann:wrong@", f"bob:{SECRET}@"):
        code, out, err = ask(f"zk://{other}{address}/ann?tick=100ms", "run", "a", "--", "echo",
                             "ran")
        tally.check(f"whoever else comes ('{other}') is denied: 77",
                    (code, out) == (77, "") and "/ann" in err and SECRET not in err,
                    f"{code} {out}{err}")
    code, found = findings("--url", f"zk://{address}/ann?tick=100ms")
    tally.check("doctor says who is denied",
                code == 77 and [one["topic"] for one in found] == ["connect"], f"{code} {found}")


def check_doctor(tally, address):
    code, found = findings("--url", f"zk://{address}?tick=100ms&session=2s")
    topics = {one["topic"]: one["text"] for one in found}
    tally.check("doctor says what sessions are agreed upon, and takes a lock",
                code == 0 and "2000 ms" in topics.get("session", "")
                and "given back" in topics.get("lock", ""), f"{code} {found}")
    code, out, _ = doctor("--url", f"zk://ann:{SECRET}@{address}/doctor?tick=100ms")
    tally.check("doctor shows no password", code == 0 and SECRET not in out and "ann" in out, out)
    code, found = findings("--url", f"zk://{address}/herd?tick=100ms&strategy=single")
    tally.check("doctor warns of the herd", code == 0 and found[0]["weight"] == "warning"
                and found[0]["topic"] == "strategy", f"{code} {found}")


def check_single(tally, address):
    url = f"zk://{address}?tick=100ms&strategy=single"
    with holder(url, "single") as held:
        said = shell(url, "stat", "/single")
        tally.check("strategy=single: the name's own node is the lock",
                    "ephemeralOwner = 0x" in said and "ephemeralOwner = 0x0\n" not in said, said)
        tally.check("strategy=single: who holds it is seen",
                    shown(url, "single")["holders"][0]["owner_id"] == held.owner_id
                    and [one["name"] for one in objects(url, "list", "--json")] == ["single"])
        code = ask(url, "run", "-n", "single", "--", "true")[0]
        tally.check("strategy=single: it is busy", code == 75, f"{code}")
        for other, name in ((url, "single/below"), (f"zk://{address}?tick=100ms", "single")):
            code, _, err = ask(other, "run", "-n", name, "--", "true")
            tally.check(f"strategy=single: '{name}' by {other.split('?')[1]} is a conflict: 78",
                        code == 78 and "strategy" in err, f"{code} {err}")
    for words in (["-s", "single"], ["--permits", "2", "single"]):
        code, _, err = ask(url, "run", *words, "--", "true")
        tally.check(f"strategy=single: {words} is not supported: 78", code == 78, f"{code} {err}")


def check_outage(tally, server):
    url = f"zk://{server.address}?tick=100ms&session=20s"
    with holder(url, "outage") as held:
        server.kill()
        server.start()
        seen = shown(url, "outage")["holders"]
        tally.check("a hold outlives a restart of the server within its session",
                    [(one["pid"], one["fence"]) for one in seen] == [(held.pid, held.fence)],
                    str(seen))
        code, _, err = held.end()
        tally.check("and is given back as always",
                    (code, err) == (143, "") and objects(url, "list", "--json") == [],
                    f"{code} {err}")


def check_end_of_server(tally, server):
    with holder(f"zk://{server.address}?tick=100ms&session=2s", "end") as held:
        server.kill()
        code, _, err = held.end(0)
        tally.check("without any server a command is stopped before its session can end: 79",
                    code == 79 and "'end' could not be renewed" in err
                    and "the command was stopped in time" in err, f"{code} {err}")
