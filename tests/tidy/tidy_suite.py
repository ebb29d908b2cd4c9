"""The tidy suite: our own rules, the format, and clang as a second compiler."""

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import guarded_test
import inherited
import rules
import rules_test
from build import build
from tally import ROOT, run

CPP_FOLDERS = ["include", "src", "cli", "tests", "benchmarks", "examples"]
TEXT_FILES = ["CMakeLists.txt", "*/CMakeLists.txt", "cmake/*", "tests/**/*.py", "crosslock",
              "test", "bench", ".ci/run"]
SYNTAX = ["-std=c++20", "-fsyntax-only", "-Iinclude", "-Isrc", "-Wall", "-Wextra", "-Wpedantic",
          "-Wshadow", "-Wthread-safety", "-Werror", "-Wno-pragma-once-outside-header", "-x", "c++"]
BATCH = 16
# Written by cmake, from the scripts beside it: nothing to compile in a tree that was not built.
INCLUDES_GENERATED = ["src/engines/redis/scripts.cpp"]


def cpp_files(*folders):
    return sorted(str(path.relative_to(ROOT)) for folder in folders
                  for path in (ROOT / folder).rglob("*.[ch]pp"))


def check(tally):
    inherited.check(tally)
    rules_test.check(tally)
    text_files = {str(path.relative_to(ROOT)) for pattern in TEXT_FILES
                  for path in ROOT.glob(pattern) if path.is_file()}
    for path in [*cpp_files(*CPP_FOLDERS), *sorted(text_files)]:
        found = rules.problems(path, (ROOT / path).read_text())
        tally.check(path, not found, "\n".join(found))
    for folder in sorted((ROOT / "src" / "engines").iterdir()):
        found = rules.engine_folder_problems(folder.name, os.listdir(folder))
        tally.check(f"the files of src/engines/{folder.name}", not found, "\n".join(found))
    check_each(tally, "is formatted as .clang-format says",
               [tool("clang-format"), "--dry-run", "-Werror"], cpp_files(*CPP_FOLDERS))
    compiler = [tool("clang++"), *SYNTAX]
    guarded_test.check(tally, compiler)
    check_each(tally, "compiles with clang", compiler, cpp_files("include"))
    with tempfile.TemporaryDirectory() as folder:
        check_each(tally, "compiles with clang", [*compiler, "-I."], batches(Path(folder)))


def batches(folder):
    """Files that include sixteen of src/ each, as the build does: most time goes to headers."""
    by_target = {}
    for path in cpp_files("src"):
        if path.endswith(".cpp") and path not in INCLUDES_GENERATED:
            words = path.split("/")
            by_target.setdefault(words[2] if words[1] == "engines" else "core", []).append(path)
    for target, paths in by_target.items():
        for first in range(0, len(paths), BATCH):
            names = paths[first:first + BATCH]
            batch = folder / f"{target}-{first}.cpp"
            batch.write_text("".join(f'#include "{name}"\n' for name in names))
            yield str(batch)


def check_with_clang_tidy(tally):
    folder = build("alone")  # with a command for every file
    check_each(tally, "has nothing clang-tidy objects to",
               [tool("clang-tidy"), "--quiet", "-p", folder],
               [path for path in cpp_files("src", "cli") if path.endswith(".cpp")])


def tool(name):
    """Version 14 is the one we promise; another is better than none."""
    return shutil.which(f"{name}-14") or name


def check_each(tally, what, command, files):
    files = list(files)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda path: run([*command, path]), files)
        for path, (code, said) in zip(files, answers):
            tally.check(f"{path} {what}", code == 0, said[:1500])
