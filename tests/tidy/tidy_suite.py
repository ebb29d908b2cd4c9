"""The tidy suite: our own rules, the format, and clang as a second compiler."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import rules
import rules_test
from build import build
from tally import ROOT, run

CPP_FOLDERS = ["include", "src", "cli", "tests", "benchmarks", "examples"]
TEXT_FILES = ["CMakeLists.txt", "*/CMakeLists.txt", "cmake/*", "tests/**/*.py", "crosslock",
              "test", "bench", ".ci/run"]
SYNTAX = ["-std=c++20", "-fsyntax-only", "-Iinclude", "-Isrc", "-Wall", "-Wextra", "-Wpedantic",
          "-Wshadow", "-Wthread-safety", "-Werror", "-Wno-pragma-once-outside-header"]


def cpp_files(*folders):
    return sorted(str(path.relative_to(ROOT)) for folder in folders
                  for path in (ROOT / folder).rglob("*.[ch]pp"))


def check(tally):
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
    check_each(tally, "compiles with clang", [tool("clang++"), *SYNTAX, "-x", "c++"],
               [path for path in cpp_files("include", "src") if not path.startswith("src/engines/")
                and (path.startswith("include/") or path.endswith(".cpp"))])


def check_with_clang_tidy(tally):
    folder = build("dev", "crosslock-core")
    check_each(tally, "has nothing clang-tidy objects to",
               [tool("clang-tidy"), "--quiet", "-p", folder],
               [path for path in cpp_files("src", "cli") if path.endswith(".cpp")])


def tool(name):
    """Version 14 is the one we promise; another is better than none."""
    return shutil.which(f"{name}-14") or name


def check_each(tally, what, command, files):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda path: run([*command, path]), files)
        for path, (code, said) in zip(files, answers):
            tally.check(f"{path} {what}", code == 0, said[:1500])
