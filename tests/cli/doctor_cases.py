"""`crosslock doctor`: what it says about each engine, and its exit codes."""

import json
import os
import re
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from running import PATIENCE, PROGRAM
from tally import ROOT, environment


def doctor(*words, **variables):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([PROGRAM, "doctor", *words], capture_output=True, text=True,
                          timeout=PATIENCE, env=environment(**variables),
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def findings(*words, **variables):
    """(exit code, the objects it prints)"""
    code, out, _ = doctor(*words, "--json", **variables)
    return code, [json.loads(line) for line in out.splitlines()]


@contextmanager
def redis_server(folder, *settings):
    """A redis-server of our own at a socket in the folder."""
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", f"{folder}/redis.sock", "--dir", folder,
         "--save", "", *settings], stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            if "accept connections" in line:
                break
        yield f"redis+unix://{folder}/redis.sock"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def check(tally):
    check_documented_rights(tally)
    check_embedded(tally)
    with tempfile.TemporaryDirectory(prefix="crosslock-doctor-") as folder:
        check_redis(tally, folder)
        check_unfit(tally, folder)
    check_nobody(tally)
    for words in (["--no-such-option"], ["word"], ["--url"]):
        code, out, err = doctor(*words)
        tally.check(f"doctor {words} is a usage error", code == 64 and out == "" and err != "",
                    f"exit code {code}\n{out}{err}")


def check_documented_rights(tally):
    """The page names the rights that the unit tests show to be enough, and no others."""
    tested = (ROOT / "tests/unit/redis_rights_test.cpp").read_text()
    tested = tested.split("needed{")[1].split("}")[0]
    page = (ROOT / "docs/engines/redis.md").read_text()
    page = page.split("ACL SETUSER")[1].split("./crosslock")[0]
    words = {word.strip("'")[1:] for word in page.split() if word.strip("'").startswith("+")}
    tally.check("the rights in docs/engines/redis.md are those that are tested",
                words == set(re.findall(r'"([^"]+)"', tested)), str(sorted(words)))


def check_embedded(tally):
    code, found = findings(CROSSLOCK_URL="memory:")
    tally.check("doctor says what the memory engine reaches",
                code == 0 and "one process" in found[0]["text"], str(found))
    with tempfile.TemporaryDirectory(prefix="crosslock-doctor-") as folder:
        code, found = findings(HOME=folder, XDG_STATE_HOME="", CROSSLOCK_URL="")
        path = Path(folder) / ".local/state/crosslock/locks.db"
        tally.check("doctor says where the default database is",
                    code == 0 and path.exists() and str(path) in found[0]["text"], str(found))
        tally.check("doctor takes a lock and gives it back",
                    found[-1]["topic"] == "lock" and "given back" in found[-1]["text"], str(found))


def check_redis(tally, folder):
    with redis_server(folder, "--requirepass", "qzwx") as url:
        code, found = findings("--url", f"{url}?password=qzwx")
        topics = [one["topic"] for one in found]
        expected = {"version", "eviction", "persistence", "way", "clock", "round trip", "rights",
                    "lock"}
        tally.check("doctor examines a Redis server", code == 0 and expected <= set(topics),
                    f"exit code {code}\n{found}")
        tally.check("warnings come first",
                    found[0]["weight"] == "warning" and found[0]["topic"] == "persistence",
                    str(found))
        code, out, err = doctor("--url", f"{url}?password=qzwx")
        tally.check("doctor for people has a line for each finding, and no password",
                    code == 0 and len(out.splitlines()) == len(found) + 1 and "qzwx" not in out
                    and err == "", out + err)
        tally.check("what needs no password in the list of processes can come from a file",
                    doctor(CROSSLOCK_URL=url, CROSSLOCK_PASSWORD_FILE=password_file(folder))[0]
                    == 0)
        code, found = findings("--url", f"{url}?password=wrong")
        tally.check("a wrong password is 77",
                    code == 77 and [one["topic"] for one in found] == ["connect"],
                    f"exit code {code}\n{found}")


def password_file(folder):
    path = Path(folder) / "password"
    path.write_text("qzwx\n")
    return str(path)


def check_unfit(tally, folder):
    with redis_server(folder, "--maxmemory-policy", "allkeys-lru") as url:
        code, found = findings("--url", url)
        tally.check("a server that may evict locks is 78",
                    code == 78 and found[-1]["weight"] == "refusal"
                    and "allkeys-lru" in found[-1]["text"], f"exit code {code}\n{found}")
        code, found = findings("--url", f"{url}?eviction=allowed")
        tally.check("what was accepted is a warning",
                    code == 0 and {"warning"} == {one["weight"] for one in found
                                                  if one["topic"] == "eviction"}, str(found))
    with redis_server(folder, "--replicaof", "127.0.0.1 1") as url:
        code, found = findings("--url", url)
        tally.check("a replica is 69", code == 69 and "replica" in found[-1]["text"],
                    f"exit code {code}\n{found}")
    with redis_server(folder) as url:
        findings("--url", url)  # leaves the fence of the lock it tries
        fence = "crosslock:{*}:fence:crosslock-doctor"
        spoil = (f"redis-cli -s {folder}/redis.sock --scan --pattern '{fence}' | while read -r key;"
                 f" do redis-cli -s {folder}/redis.sock DEL $key;"
                 f" redis-cli -s {folder}/redis.sock RPUSH $key x; done")
        subprocess.run(["bash", "-c", spoil], check=True, capture_output=True)
        code, found = findings("--url", url)
        tally.check("a lock that cannot be taken is found out",
                    code == 78 and found[-1]["topic"] == "lock"
                    and found[-1]["weight"] == "refusal", f"exit code {code}\n{found}")


def check_nobody(tally):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens
        port = silent.getsockname()[1]
        code, found = findings("--url", f"redis://127.0.0.1:{port}")
        tally.check("nobody at the port is 69", code == 69 and str(port) in found[-1]["text"],
                    f"exit code {code}\n{found}")
    code, out, err = doctor("--url", "redis://ann:qzwx@h/x")
    tally.check("a wrong URL is 78, and its password is not shown",
                code == 78 and "qzwx" not in out + err, f"exit code {code}\n{out}{err}")
    code, _, err = doctor("--url", "redis+cluster://h")
    tally.check("what is not built yet is 78", code == 78, f"exit code {code}\n{err}")
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w") as full:
            code = subprocess.run([PROGRAM, "doctor", "--url", "memory:"], stdout=full,
                                  stderr=subprocess.DEVNULL, env=environment()).returncode
        tally.check("doctor: a full disk is not a success", code != 0, f"exit code {code}")
