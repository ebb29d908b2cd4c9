"""Users take crosslock in by find_package, by add_subdirectory or by pkg-config, from shared or
static libraries; each way gives a program that works and links nothing but core and its engine."""

import re
import shlex
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import snippets
from tally import ROOT, environment, run
from zookeeper_server import zookeeper_url

CONSUMER = ROOT / "tests" / "package"
# The C++ run time; anything else in a consumer is one of ours or one too many.
RUN_TIME = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libpthread.so.0",
            "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1"}
# What an engine brings along.
ENGINES = {"memory": set(), "sqlite": {"libsqlite3"},
           "redis": {"libhiredis", "libssl", "libcrypto"}, "zookeeper": set()}
# What is compiled here is not debugged.
QUICK = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0"]


def check(tally):
    with tempfile.TemporaryDirectory(prefix="crosslock-package-") as name:
        folder = Path(name)
        check_defaults(tally, folder / "defaults")
        for kind, shared in (("shared", "ON"), ("static", "OFF")):
            prefix = folder / kind
            if install(tally, folder / f"build-{kind}", prefix, shared):
                for engine in ENGINES:
                    check_find_package(tally, folder, prefix, kind, engine)
                    check_pkg_config(tally, folder, prefix, kind, engine)
        check_symbols(tally, folder / "shared", folder)
        check_missing_component(tally, folder)
        check_add_subdirectory(tally, folder)
        flags = [flag for engine in ENGINES for flag in pkg_config_flags(folder / "shared", engine)]
        snippets.check(tally, flags, folder)


def must(tally, what, command, **options):
    code, said = run(command, 1200, env=options.pop("env", environment()), **options)
    return tally.check(what, code == 0, said[-4000:])


def check_defaults(tally, build):
    """What `cmake -B build` gives a user who says nothing else."""
    if not must(tally, "configure without a choice", ["cmake", "-S", ROOT, "-B", build,
                                                      "-G", "Ninja"]):
        return
    _, said = run(["ninja", "-C", build, "-t", "targets", "all"])
    strangers = [word for word in ("crosslock-unit", "crosslock-bench", "example-")
                 if word in said]
    tally.check("no tests, benchmarks and examples unless asked for",
                "cli/crosslock:" in said and not strangers, str(strangers))
    _, said = run(["ninja", "-C", build, "-t", "commands", "crosslock"])
    tally.check("optimised, and no warning is an error", " -O3 -DNDEBUG " in said
                and "-Werror" not in said, said[:2000])


def install(tally, build, prefix, shared):
    return (must(tally, f"configure for install, BUILD_SHARED_LIBS={shared}",
                 ["cmake", "-S", ROOT, "-B", build, *QUICK, f"-DBUILD_SHARED_LIBS={shared}",
                  f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCROSSLOCK_CLI=OFF"])
            and must(tally, "build for install", ["cmake", "--build", build])
            and must(tally, "install", ["cmake", "--install", build]))


@contextmanager
def server_of(engine, program):
    """The URL of a place for locks."""
    if engine not in ("redis", "zookeeper"):
        yield "memory:" if engine == "memory" else f"{engine}:{program}.db"
        return
    with tempfile.TemporaryDirectory(prefix="crosslock-package-") as folder:
        if engine == "zookeeper":
            with zookeeper_url(folder) as url:
                yield url
            return
        with subprocess.Popen(["redis-server", "--port", "0", "--save", "", "--unixsocket",
                               f"{folder}/socket"], cwd=folder, stdout=subprocess.PIPE,
                              text=True) as server:
            try:
                for line in server.stdout:
                    if "accept connections" in line:
                        break
                yield f"redis+unix://{folder}/socket"
            finally:
                server.kill()


def check_program(tally, way, program, engine, ours):
    with server_of(engine, program) as url:
        code, said = run([program], 60, env=environment(CROSSLOCK_URL=url))
    tally.check(f"{way}: the consumer gets its lock",
                code == 0 and re.fullmatch(r"fence [1-9]\d*\n", said), f"exit code {code}\n{said}")
    _, said = run(["ldd", program])
    linked = {Path(line.split()[0]).name for line in said.splitlines() if line.strip()}
    found = {re.sub(r"\.so.*", "", library) for library in linked - RUN_TIME}
    tally.check(f"{way}: the consumer links {sorted(ours)} and the C++ run time", found == ours,
                said)


def ours(kind, engine):
    shared = {"libcrosslock-core", f"libcrosslock-{engine}"} if kind == "shared" else set()
    return shared | ENGINES[engine]


def check_find_package(tally, folder, prefix, kind, engine):
    way, build = f"find_package, {kind}, {engine}", folder / f"find-{kind}-{engine}"
    if (must(tally, f"{way}: configure",
             ["cmake", "-S", CONSUMER, "-B", build, *QUICK, f"-DCMAKE_PREFIX_PATH={prefix}",
              f"-DCOMPONENT={engine}",
              # What many distributions do; it must not lose the engine.
              "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed"])
            and must(tally, f"{way}: build", ["cmake", "--build", build])):
        check_program(tally, way, build / "consumer", engine, ours(kind, engine))


def check_symbols(tally, prefix, folder):
    """ZooKeeper's client is inside the library of its engine and nowhere else: a program may use
    the multi-threaded flavour, which has the same symbols, beside it."""
    for library in prefix.rglob("libcrosslock-*.so"):
        _, said = run(["nm", "-D", "--defined-only", library])
        strangers = [line for line in said.splitlines()
                     if re.search(r" (zoo|zk|ZOO|ZK|hashtable|deallocate_|serialize_)", line)]
        tally.check(f"{library.name} exports nothing of ZooKeeper's client",
                    "crosslock" in said and not strangers, "\n".join(strangers))
    way, program = "beside libzookeeper_mt", folder / "consumer-beside"
    # Ahead of ours, so that its symbols would be taken in place of ours if ours were to be seen.
    if must(tally, f"{way}: build",
            ["g++", "-std=c++20", CONSUMER / "beside_zookeeper.cpp", "-o",
             program, "-l:libzookeeper_mt.so.2", *pkg_config_flags(prefix, "zookeeper")]):
        check_program(tally, way, program, "zookeeper",
                      ours("shared", "zookeeper") | {"libzookeeper_mt"})


def check_missing_component(tally, folder):
    code, said = run(["cmake", "-S", CONSUMER, "-B", folder / "missing", *QUICK,
                      f"-DCMAKE_PREFIX_PATH={folder / 'shared'}", "-DCOMPONENT=teapot"])
    told = " ".join(said.split())
    tally.check("a missing component is refused by name",
                code != 0 and "crosslock has no component 'teapot' here" in told, said)


def check_add_subdirectory(tally, folder):
    way, build = "add_subdirectory", folder / "subdirectory"
    if (must(tally, f"{way}: configure",
             ["cmake", "-S", CONSUMER, "-B", build, *QUICK, f"-DCROSSLOCK_SOURCE={ROOT}"])
            and must(tally, f"{way}: build", ["cmake", "--build", build])):
        check_program(tally, way, build / "consumer", "memory", ours("static", "memory"))
        strangers = [path.name for path in build.rglob("crosslock-unit*")]
        tally.check(f"{way}: brings no tests along", not strangers, str(strangers))


def pkg_config_flags(prefix, engine):
    paths = ":".join(str(path.parent) for path in prefix.rglob("crosslock-core.pc"))
    static = ["--static"] if list(prefix.rglob("*.a")) else []
    code, said = run(["pkg-config", *static, "--cflags", "--libs", f"crosslock-{engine}"],
                     env=environment(PKG_CONFIG_PATH=paths))
    library = Path(paths).parent
    return [*shlex.split(said), f"-Wl,-rpath,{library}"] if code == 0 else [said]


def check_pkg_config(tally, folder, prefix, kind, engine):
    way, program = f"pkg-config, {kind}, {engine}", folder / f"consumer-{kind}-{engine}"
    if must(tally, f"{way}: build",
            ["g++", "-std=c++20", "-Wl,--as-needed", CONSUMER / "consumer.cpp", "-o", program,
             *pkg_config_flags(prefix, engine)]):
        check_program(tally, way, program, engine, ours(kind, engine))
