"""Locks of other libraries at the same key, and texts that would like to speak to the terminal."""

import subprocess
from contextlib import contextmanager

from look_stage import PYTHON, ask, background, holder, objects, shown, terminal, waiter
from tally import environment

REDIS_PY = """
import sys, redis
server = redis.Redis(unix_socket_path=sys.argv[1])
lock = server.lock(sys.argv[2], timeout=float(sys.argv[3]) or None)
lock.acquire()
print(lock.local.token.decode(), flush=True)
sys.stdin.read()
"""
EVIL = "\x1b[2J\x1b]0;owned\x07 \u009b31m \u202egnol"


@contextmanager
def redis_py(url, name, lease):
    """A lock of redis-py; yields its token."""
    command = [PYTHON, "-c", REDIS_PY, url.split("://")[1], name, str(lease)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=environment())
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def redis_cli(url, *words):
    subprocess.run(["redis-cli", "-s", url.split("://")[1], *words], check=True,
                   capture_output=True)


def check(tally, url):
    check_redis_py(tally, url)
    check_strange_value(tally, url)
    check_strange_type(tally, url)
    check_strange_who(tally, url)


def check_redis_py(tally, url):
    with redis_py(url, "stock", 60) as token:
        one = shown(url, "stock")["holders"][0]
        tally.check("a lock of redis-py is a foreign holder",
                    one["foreign"] is True and one["owner_id"] == token and one["fence"] is None
                    and one["age_ms"] is None and one["user"] is None
                    and 50000 < one["lease_left_ms"] <= 60000, str(one))
        tally.check("and show says so to people", "another library" in ask(url, "show", "stock")[1])
        with background(url, "watch", "-d", "20ms") as watching, waiter(url, "stock", 1) as w:
            listed = objects(url, "list", "--json")
            tally.check("where ours wait, list has it as well",
                        [(each["name"], each["holders"][0]["foreign"], each["line"][0]["pid"])
                         for each in listed] == [("stock", True, w.pid)], str(listed))
            # Held, if it was there when the watch began.
            first = {(each["event"].replace("held", "acquired"), each["foreign"])
                     for each in (watching.object(), watching.object())}
            tally.check("watch tells of it",
                        first == {("acquired", True), ("waiting", False)}, str(first))
            code, out, err = ask(url, "break", "stock", "--owner-id", token, "--yes")
            tally.check("break can end it", code == 0 and w.line() == "started",
                        f"{code} {out}{err}")
    with redis_py(url, "endless", 0) as token:
        one = shown(url, "endless")["holders"][0]
        tally.check("a lock without expiry has no end", one["lease_left_ms"] is None, str(one))
        tally.check("and show says so", "no end" in ask(url, "show", "endless")[1])
        with terminal(url, "break", "endless", "--owner-id", token) as asked:
            tally.check("before a foreign lock is broken one hears that nobody is told",
                        asked.read("[y/N]") and "not told" in asked.last, asked.seen)
            asked.type("y\n")
            tally.check("it is broken all the same", asked.end()[0] == 0)


def check_strange_value(tally, url):
    redis_cli(url, "SET", "evil", EVIL)
    seen = shown(url, "evil")["holders"][0]
    tally.check("a foreign value that is no owner id has none, and is there as it is in JSON",
                seen["owner_id"] is None and EVIL in seen["who"], str(seen))
    check_harmless(tally, "value", url, "show", "evil")
    check_harmless(tally, "value", url, "show", "evil", "--json")
    redis_cli(url, "DEL", "evil")


def check_strange_type(tally, url):
    ask(url, "run", "typed", "true")  # the name is known for a day
    redis_cli(url, "HSET", "typed", "field", "1")
    with holder(url, "other"):
        listed = objects(url, "list", "--json")
        tally.check("a key of another type hides no other lock from the list",
                    [(each["name"], each["holders"][0]["foreign"]) for each in listed]
                    == [("other", False), ("typed", True)], str(listed))
    redis_cli(url, "DEL", "typed")


def check_strange_who(tally, url):
    """Somebody may write what he likes into the keys."""
    with waiter_with_text(url, EVIL):
        seen = objects(url, "list", "--json")
        tally.check("what a client says of itself is there as it is in JSON",
                    EVIL in seen[0]["line"][0]["who"], str(seen))
        for words in (["list"], ["list", "--json"], ["show", "evil"], ["top", "-b", "-n", "1"],
                      ["watch", "--count", "2"]):
            check_harmless(tally, "text", url, *words)
        with terminal(url, "list", NO_COLOR="1") as drawn:
            tally.check("nor on a terminal", "\x1b" not in drawn.end()[1])
    redis_cli(url, "DEL", "evil")


@contextmanager
def waiter_with_text(url, text):
    """A foreign lock that one of ours waits for; then its text is exchanged on the server."""
    redis_cli(url, "SET", "evil", text)
    with waiter(url, "evil", 1):
        path = url.split("://")[1]
        script = ("local one = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES') "
                  "redis.call('ZREM', KEYS[1], one[1]) "
                  "local head = string.match(one[1], '^%x+ %S+ %d+ %d+ %x+ ') "
                  "redis.call('ZADD', KEYS[1], one[2], head .. ARGV[1]) "
                  "redis.call('HSET', KEYS[2], string.sub(head, 1, 32), '9999999999999')")
        keys = subprocess.run(["redis-cli", "-s", path, "--scan", "--pattern",
                               "crosslock:*:line:evil"], capture_output=True, text=True, check=True)
        line = keys.stdout.strip()
        redis_cli(url, "EVAL", script, "2", line, line.replace(":line:", ":wait:"), text)
        yield


def check_harmless(tally, what, url, *words):
    code, out, err = ask(url, *words)
    bad = [letter for letter in out + err if letter != "\n" and
           (ord(letter) < 32 or 127 <= ord(letter) < 160)]
    tally.check(f"no control character of a foreign {what} comes out of {words}",
                code == 0 and bad == [] and "owned" in out, f"{code} {bad} {out}{err}")
