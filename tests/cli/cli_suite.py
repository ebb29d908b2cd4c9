"""The program crosslock, and the script ./crosslock that builds and starts it."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import completion_cases
import config_cases
import doctor_cases
import guardian_cases
import hold_cases
import install_cases
import look_cases
import option_cases
import package_cases
import location_cases
import readme_cases
import receipt_cases
import run_cases
import run_lock_cases
import sharing_cases
import shell_cases
import terminal_cases
import zookeeper_cases
from running import PROGRAM
from tally import ROOT, environment, run

SCRIPT = ROOT / "crosslock"
ADDED_MAX = 3.5  # less than 10 ms where an idle script adds the usual 2.8


def check(tally):
    code, said = run([SCRIPT, "--version"], 1800, env=environment())
    if not tally.check("./crosslock builds the program", code == 0, said):
        return
    check_answers(tally)
    check_engines(tally)
    run_cases.check(tally)
    option_cases.check(tally)
    shell_cases.check(tally)
    run_lock_cases.check(tally)
    guardian_cases.check(tally)
    terminal_cases.check(tally)
    hold_cases.check(tally)
    receipt_cases.check(tally)
    look_cases.check(tally)
    doctor_cases.check(tally)
    readme_cases.check(tally)
    zookeeper_cases.check(tally)
    location_cases.check(tally)
    sharing_cases.check(tally)
    config_cases.check(tally)
    completion_cases.check(tally)
    install_cases.check(tally)
    package_cases.check(tally)
    check_script(tally)
    check_bench(tally)
    check_added_time(tally)


def crosslock(*arguments, program=PROGRAM, **options):
    """(exit code, stdout, stderr)"""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60,
                          env=environment(), **options)
    return done.returncode, done.stdout, done.stderr


def check_answers(tally):
    header = (ROOT / "include/crosslock/version.hpp").read_text()
    version = header.split('#define CROSSLOCK_VERSION "')[1].split('"')[0]
    answer = crosslock("--version")
    tally.check("--version", answer == (0, f"crosslock {version}\n", ""), str(answer))

    code, out, _ = crosslock("--help")
    tally.check("--help names the commands", code == 0 and "engines" in out, out)
    # A command that is not built is not announced either.
    tally.check("--help names no command that is not there", "lab" not in out.split(), out)

    for words in ([], ["no-such-command"], ["engines", "--no-such-option"], ["--no-such-option"]):
        code, out, err = crosslock(*words)
        tally.check(f"{words} is a usage error", code == 64 and out == "" and err != "",
                    f"exit code {code}\n{out}{err}")


def check_engines(tally):
    code, out, _ = crosslock("engines")
    *table, default = out.splitlines()
    rows = {line.split()[0]: line for line in table[1:]}
    names = ["memory", "sqlite", "redis", "redlock", "zookeeper", "etcd", "mariadb", "postgres"]
    tally.check("engines lists every engine", code == 0 and list(rows) == names, out)
    tally.check("the memory engine is loadable, and has no receipts",
                " loadable " in rows.get("memory", "") and "receipts" not in rows["memory"], out)
    tally.check("engines says what the embedded engine offers",
                rows.get("sqlite", "").endswith("loadable  shared permits first-come pushes "
                                                "receipts lease 10ms to 24h"), out)
    tally.check("engines says what to install", "install libcrosslock-etcd" in rows["etcd"], out)
    tally.check("engines says where locks are kept by default",
                default.startswith("default: sqlite:///") and "(the default)" in default, default)
    check_defaults(tally)

    code, out, _ = crosslock("engines", "--json")
    objects = [json.loads(line) for line in out.splitlines()]
    tally.check("engines --json has an object per line",
                code == 0 and [row["engine"] for row in objects] == names, out)
    built = {path.name for path in (ROOT / "src/engines").iterdir() if path.is_dir()}
    for row in objects:
        usable = row["state"] in ("linked", "loadable")
        tally.check(f"the state of {row['engine']} is true", usable == (row["engine"] in built),
                    str(row))
        tally.check(f"{row['engine']} says what to install if anything",
                    usable != ("install" in row), str(row))
        offers = {"shared", "permits", "first_come", "pushes", "receipts", "session",
                  "lease_min_ms", "lease_max_ms"}
        tally.check(f"{row['engine']} says what it offers if anything",
                    (set(row) & offers) == (offers if usable else set()), str(row))
        tally.check(f"whether {row['engine']} is the default is true",
                    ("default" in row) == (row["engine"] == "sqlite"), str(row))

    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "engines"], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=environment())
    tally.check("a full disk is not a success, and is said",
                done.returncode == 70 and "standard output" in done.stderr, str(done))


def check_defaults(tally):
    env = environment(CROSSLOCK_URL="redis://ann:qzwx@host/3")
    out = subprocess.run([PROGRAM, "engines"], capture_output=True, text=True, env=env).stdout
    tally.check("engines shows the default of the environment, and no password",
                "qzwx" not in out and out.splitlines()[-1].startswith("default: redis://ann")
                and out.endswith("(CROSSLOCK_URL)\n"), out)
    out = subprocess.run([PROGRAM, "engines", "--json"], capture_output=True, text=True,
                         env=env).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    tally.check("engines --json marks it",
                [(row["engine"], row["default"]["source"]) for row in rows if "default" in row]
                == [("redis", "CROSSLOCK_URL")] and "qzwx" not in out, out)
    for nowhere in ({}, {"CROSSLOCK_URL": "nothing:"}):
        env = {"PATH": os.environ["PATH"], **nowhere}
        done = subprocess.run([PROGRAM, "engines"], capture_output=True, text=True, env=env)
        last = done.stdout.splitlines()[-1]
        tally.check("engines says why there is no default",
                    done.returncode == 0 and last.startswith("default: none ("), done.stdout)


def check_script(tally):
    expected = crosslock("engines")
    with tempfile.TemporaryDirectory() as folder:
        tally.check("./crosslock works from another folder",
                    crosslock("engines", program=SCRIPT, cwd=folder) == expected)
        link = Path(folder) / "lock"
        link.symlink_to(SCRIPT)
        tally.check("./crosslock works through a link",
                    crosslock("engines", program=link, cwd="/") == expected)
    relative = subprocess.run(["bash", "crosslock", "engines"], cwd=ROOT, capture_output=True,
                              text=True, env=environment())
    tally.check("./crosslock works by a bare name", relative.stdout == expected[1])
    tally.check("./crosslock passes the exit code on",
                crosslock("no-such-command", program=SCRIPT)[0] == 64)

    # As after `git pull`: a source is newer than the build.
    source, stamp = ROOT / "cli" / "main.cpp", ROOT / "build/release/program-built"
    os.utime(stamp, (1, 1))
    answer = crosslock("engines", program=SCRIPT)
    tally.check("./crosslock builds again after a change",
                answer[:2] == expected[:2] and stamp.stat().st_mtime > source.stat().st_mtime,
                answer[2])


def check_bench(tally):
    """Every workload once, briefly: that it works is asserted, how fast it is never."""
    everywhere = {"own_name_1", "own_name_16", "own_name_64", "handover_processes_4",
                  "pass_threads_8", "waiters_8", "waiters_64", "waiters_256", "reentry",
                  "renew_10000"}
    workloads = {(engine, name) for engine in ("memory", "redis") for name in everywhere}
    workloads |= {("sqlite", name) for name in everywhere | {"own_name_1_full", "own_name_64_full"}}
    code, said = run([ROOT / "bench", "memory", "redis", "sqlite", "--json", "--rounds", "1",
                      "--seconds", "0.05"], 1800, env=environment())
    rows = {}
    for line in said.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            rows[row["engine"], row["workload"], row["subject"]] = row
    for engine, workload in sorted(workloads):
        tally.check(f"./bench {engine} runs {workload} and its floor",
                    code == 0 and (engine, workload, "crosslock") in rows
                    and (engine, workload, "floor") in rows, said[-2000:])
    for peer in ("redis-py", "redlock"):
        tally.check(f"./bench redis runs {peer}", ("redis", "own_name_16", peer) in rows,
                    said[-2000:])
    pair = rows.get(("redis", "own_name_1", "crosslock"), {})
    tally.check("a lock and its release are two requests to Redis",
                abs(pair.get("requests_per_op", 0) - 2) < 0.1, str(pair))
    for engine in ("memory", "redis", "sqlite"):
        reentry = rows.get((engine, "reentry", "crosslock"), {})
        tally.check(f"re-entry makes no system call and no request: {engine}",
                    (reentry.get("system_calls"), reentry.get("requests_per_op")) == (False, 0),
                    str(reentry))
    check_bench_cli(tally)
    tally.check("./bench refuses an unknown engine",
                run([ROOT / "bench", "no-such-engine"], env=environment())[0] == 64)


def check_bench_cli(tally):
    code, said = run([ROOT / "bench", "cli", "--json", "--rounds", "1", "--seconds", "0.05"], 1800,
                     env=environment())
    rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    subjects = {row["subject"]: row for row in rows if "subject" in row}
    tally.check("./bench cli measures the program beside flock",
                code == 0 and subjects.keys() >= {"true", "flock", "crosslock-version",
                                                  "crosslock-run", "lock-in-process"}
                and all(row["p50_ms"] > 0 for row in subjects.values()), said[-2000:])
    tally.check("./bench cli says what is beyond the lock",
                any("beyond_the_lock_ms" in row for row in rows), said[-2000:])


def check_added_time(tally):
    """The one place where times are compared: medians of many runs, taken in turns. A script that
    does nothing is the measure, for a busy machine delays both."""
    with tempfile.TemporaryDirectory() as folder:
        idle = Path(folder) / "idle"
        idle.write_text(f'#!/usr/bin/env bash\nexec "{PROGRAM}" "$@"\n')
        idle.chmod(0o755)
        took = {SCRIPT: [], PROGRAM: [], idle: []}
        for _ in range(41):
            for program, times in took.items():
                begin = time.perf_counter()
                crosslock("--version", program=program)
                times.append((time.perf_counter() - begin) * 1000)
    median = {program: statistics.median(times) for program, times in took.items()}
    added = median[SCRIPT] - median[PROGRAM]
    shell = median[idle] - median[PROGRAM]
    said = f"./crosslock adds {added:.1f} ms, a script that does nothing {shell:.1f} ms"
    tally.check(f"./crosslock adds at most {ADDED_MAX} times what an idle script adds",
                added <= ADDED_MAX * shell, said)
    print(said, flush=True)
