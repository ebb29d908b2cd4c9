"""`./crosslock install` and the Debian package: what is put where, and that it works there."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from guests import folder_for_all
from location_cases import NOBODY
from running import PATIENCE, PROGRAM
from tally import ROOT, environment, run

SCRIPT = ROOT / "crosslock"
VERSION = re.search(r'CROSSLOCK_VERSION "(.*)"',
                    (ROOT / "include/crosslock/version.hpp").read_text()).group(1)
ENGINES = sorted(path.name for path in (ROOT / "src/engines").iterdir() if path.is_dir())
SHARE = {"man/man1/crosslock.1", "bash-completion/completions/crosslock",
         "zsh/site-functions/_crosslock", "fish/vendor_completions.d/crosslock.fish",
         "doc/crosslock/copyright"}


def check(tally):
    check_refusals(tally)
    with folder_for_all("crosslock-install-") as folder:
        prefix = folder / "new/prefix"
        if check_install(tally, prefix):
            check_installed(tally, prefix, folder)
        check_deb(tally, folder)


def install(*words, **options):
    done = subprocess.run([SCRIPT, "install", *words], capture_output=True, text=True, timeout=1800,
                          stdin=subprocess.DEVNULL, env=environment(), **options)
    return done.returncode, done.stdout, done.stderr


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def program_files():
    """What whoever runs the command needs; the Debian package has no more."""
    short = ".".join(VERSION.split(".")[:2])
    libraries = {f"lib/libcrosslock-{name}.so.{end}" for name in ["core", *ENGINES]
                 for end in (VERSION, short)}
    return {"bin/crosslock"} | libraries | {f"share/{name}" for name in SHARE}


def expected_files():
    """The same, and what C++ programs need that use the libraries."""
    libraries = ["core", *ENGINES]
    package = {"crosslockConfig.cmake", "crosslockConfigVersion.cmake",
               *(path.name for path in (ROOT / "cmake").glob("Find*.cmake")),
               *(f"crosslock-{name}-targets.cmake" for name in libraries),
               *(f"crosslock-{name}-targets-release.cmake" for name in libraries)}
    return (program_files()
            | {str(path.relative_to(ROOT)) for path in (ROOT / "include").rglob("*.hpp")}
            | {f"lib/libcrosslock-{name}.so" for name in libraries}
            | {f"lib/pkgconfig/crosslock-{name}.pc" for name in libraries}
            | {f"lib/cmake/crosslock/{name}" for name in package})


def check_refusals(tally):
    for words in (["--prefix"], ["--prefix", ""], ["--no-such-option"], ["/usr"]):
        code, out, err = install(*words)
        tally.check(f"install {words} is a usage error",
                    code == 64 and out == "" and "--prefix" in err, f"exit code {code}\n{err}")
    code, _, err = install("--prefix", "/dev/null/x")
    tally.check("install: a file is no prefix", code == 78 and "'/dev/null'" in err, err)
    if os.geteuid() != 0:
        tally.skipped += 1
        print("cli: not root: a prefix that cannot be written was not tried")
        return
    with folder_for_all("crosslock-install-") as closed:
        (closed / "lib").mkdir()
        for prefix, named in ((closed, closed), (closed / "lib/new", closed / "lib")):
            code, out, err = install("--prefix", str(prefix), user=NOBODY, group=NOBODY,
                                     extra_groups=[])
            tally.check("install: a prefix that cannot be written",
                        code == 77 and out == "" and f"'{named}'" in err and "root" in err
                        and "--prefix" in err, f"exit code {code}\n{err}")


def check_install(tally, prefix):
    """With a strict umask: it is for other users as well."""
    code, out, err = install("--prefix", str(prefix), umask=0o077)
    found = files_below(prefix)
    good = tally.check("install", code == 0 and found == expected_files(),
                       f"exit code {code}\n{err}\n{sorted(found ^ expected_files())}")
    said = {line.strip() for line in out.splitlines() if line.startswith("  ")}
    tally.check("install says what it put where", said == {f"{prefix}/{name}" for name in found},
                out)
    tally.check("install says that the place is not in PATH", f"'{prefix}/bin'" in out, out)
    code, again, _ = install("--prefix", str(prefix))
    tally.check("install again says the same", (code, again) == (0, out), again)
    return good


def check_installed(tally, prefix, folder):
    moved = folder / "moved"
    prefix.rename(moved)
    program = moved / "bin/crosslock"
    env = environment(CROSSLOCK_URL=f"sqlite://{folder}/locks.db",
                      PATH=f"{moved}/bin:{os.environ['PATH']}", MANPATH="")
    env.pop("MANPATH")
    # As on a machine that never had the tree.
    without = []
    if os.geteuid() == 0:
        without = ["unshare", "--mount", "sh", "-c",
                   "mount -t tmpfs none \"$0\" && exec \"$@\"", str(ROOT)]
    code, said = run([*without, program, "run", "n", "echo", "ran"], 60, env=env, cwd="/")
    tally.check("the installed program runs without the tree", (code, said) == (0, "ran\n"), said)
    code, said = run([*without, program, "engines"], 60, env=env, cwd="/")
    tally.check("the installed program has all engines",
                all(re.search(rf"^{name} .*loadable", said, re.M) for name in ENGINES), said)
    if os.geteuid() == 0:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, cwd="/",
                              user=NOBODY, group=NOBODY, extra_groups=[], timeout=PATIENCE)
        tally.check("every user may run it", done.stdout == f"crosslock {VERSION}\n", str(done))
    code, said = run(["man", "-w", "crosslock"], 60, env=env)
    tally.check("man finds the page", said.strip() == f"{moved}/share/man/man1/crosslock.1", said)
    done = subprocess.run(["man", "--warnings", "-l", moved / "share/man/man1/crosslock.1"],
                          capture_output=True, text=True, env={**env, "LC_ALL": "C.UTF-8"})
    tally.check("the page has no mistakes", done.returncode == 0 and done.stderr == "",
                done.stderr)
    check_search_paths(tally, moved)
    check_libraries(tally, moved, folder)
    check_completions(tally, moved / "share", env)


def check_search_paths(tally, prefix):
    """Libraries are looked for beside the program only, never where somebody happens to be."""
    found = {}
    for path in [PROGRAM, *(PROGRAM.parent.parent / "lib").glob("*.so.*"), prefix / "bin/crosslock",
                 *(prefix / "lib").glob("*.so.*")]:
        said = run(["readelf", "-d", path])[1]
        paths = re.search(r"RUNPATH.*\[(.*)\]", said)
        found[str(path)] = paths.group(1) if paths else said
    tally.check("libraries are looked for beside the program only",
                set(found.values()) == {"$ORIGIN", "$ORIGIN/../lib"}, str(found))


def check_libraries(tally, prefix, folder):
    """A program of a user's is built with them, wherever they are now."""
    env = environment(PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
    build = (f"g++ -std=c++20 {ROOT}/tests/package/consumer.cpp -o {folder}/consumer "
             f"$(pkg-config --cflags --libs crosslock-memory) -Wl,-rpath,{prefix}/lib "
             f"&& {folder}/consumer")
    code, said = run(["sh", "-c", build], 120, env={**env, "CROSSLOCK_URL": "memory:"})
    tally.check("pkg-config finds the installed libraries",
                code == 0 and re.fullmatch(r"fence [1-9]\d*\n", said), said)
    code, said = run(["cmake", "-S", ROOT / "tests/package", "-B", folder / "find", "-G", "Ninja",
                      f"-DCMAKE_PREFIX_PATH={prefix}"], 120, env=environment())
    tally.check("CMake finds the installed libraries", code == 0, said)


def check_completions(tally, share, env):
    bash = f"source {share}/bash-completion/completions/crosslock && complete -p crosslock"
    code, said = run(["bash", "-c", bash], 60, env=env)
    tally.check("bash loads its completion", "-F _crosslock crosslock" in said, said)
    zsh = (f"fpath=({share}/zsh/site-functions $fpath); autoload -U compinit; compinit -D -u; "
           "print $_comps[crosslock]")
    code, said = run(["zsh", "-f", "-c", zsh], 60, env=env)
    tally.check("zsh finds its completion", said == "_crosslock\n", said)
    code, said = run(["fish", "-c", "complete -C 'crosslock comp'"], 60,
                     env={**env, "XDG_DATA_DIRS": f"{share}:/usr/share", "HOME": str(share)})
    tally.check("fish finds its completion", said.startswith("completion\t"), said)


def check_deb(tally, folder):
    built = ROOT / "build/release/deb"
    shutil.rmtree(built, ignore_errors=True)
    code, said = run(["cmake", "--build", ROOT / "build/release", "--target", "deb"], 1800,
                     env=environment())
    packages = list(built.glob("*.deb"))
    if not tally.check("a .deb is made", code == 0 and len(packages) == 1, said[-3000:]):
        return
    package = packages[0]
    _, architecture = run(["dpkg", "--print-architecture"])
    tally.check("its name", package.name == f"crosslock_{VERSION}_{architecture.strip()}.deb",
                package.name)
    _, depends = run(["dpkg-deb", "-f", package, "Depends"])
    for needed in ("libc6", "libstdc++6", "libsqlite3-0", "libhiredis", "libssl3"):
        tally.check(f"it depends on {needed}", needed in depends, depends)
    tally.check("it depends on no package of ours", "crosslock" not in depends, depends)
    check_deb_files(tally, package)
    if os.geteuid() == 0:
        check_deb_installed(tally, package, folder / "root")


def check_deb_files(tally, package):
    with tempfile.TemporaryDirectory() as name:
        run(["sh", "-c", f"dpkg-deb --fsys-tarfile {package} > {name}/data.tar"])
        with tarfile.open(f"{name}/data.tar") as data:
            members = data.getmembers()
            binary = data.extractfile("./usr/bin/crosslock").read()
    strange = [one.name for one in members
               if (one.uid, one.gid) != (0, 0) or (one.mode & 0o022 and not one.issym())]
    tally.check("its files are root's, and nobody else may write them", not strange, str(strange))
    files = {one.name.removeprefix("./usr/") for one in members if not one.isdir()}
    packed = {"share/man/man1/crosslock.1": "share/man/man1/crosslock.1.gz"}
    wanted = {packed.get(each, each) for each in program_files()}
    wanted.add("share/doc/crosslock/changelog.gz")
    tally.check("it has what runs the command, and a changelog", files == wanted,
                str(sorted(files ^ wanted)))
    tally.check("its program is stripped", b".symtab" not in binary)
    _, control = run(["dpkg-deb", "-f", package])
    tally.check("it says what it is", "\nDescription: locks that hold" in f"\n{control}"
                and "Section: admin" in control, control)


def check_deb_installed(tally, package, root):
    """By dpkg, into a root of its own."""
    for path in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"):
        (root / path).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    # There is no shell for the script that calls ldconfig: it runs outside, where it does no harm.
    dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless"]
    code, said = run([*dpkg, "-i", package], 120)
    tally.check("dpkg installs it", code == 0, said)
    url = f"sqlite://{root}/locks.db"
    code, said = run([root / "usr/bin/crosslock", "run", "n", "echo", "ran"], 60, cwd="/",
                     env=environment(CROSSLOCK_URL=url))
    tally.check("the packed program runs", (code, said) == (0, "ran\n"), said)
    code, said = run(["dpkg", f"--root={root}", "--verify", "crosslock"], 60)
    tally.check("its checksums are right", (code, said) == (0, ""), said)
    run([*dpkg, "--purge", "crosslock"], 120)
    left = {name for name in files_below(root) if name.startswith("usr/")}
    tally.check("dpkg takes all of it away again", not left, str(left))
