"""The rules of the house, each a function of (path, text) that yields (line, problem)."""

import re

import cpp_text

LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60

# Which folders of src/ a layer may include besides the public headers (design: calls go left to
# right, and so do includes).
LAYERS = {
    "lock": ["lock", "cells", "client", "local"],
    "cells": ["cells", "client"],
    "client": ["client", "local", "keeper", "engine"],
    "local": ["local", "keeper"],
    "keeper": ["keeper", "engine"],
    "session": ["session", "line_rules", "engine"],
    "engine": ["engine"],
    "line_rules": ["line_rules", "engine"],
}
# The mutex of everybody.
GUARDED = "engine/guarded.hpp"
# What engines share, beside them: engines may include it, and the core does not know it.
SHARED_BY_ENGINES = ["line_rules", "session"]
# Redlock is made of Redis nodes: the one engine that may use another.
ENGINE_FRIENDS = {"redlock": ["redis"]}
ENGINE_FILES = ["factory.cpp", "engine.hpp", "engine.cpp", "connection.hpp", "connection.cpp",
                "protocol.hpp", "protocol.cpp"]
ENGINE_NAMES = ["memory", "sqlite", "redis", "redlock", "zookeeper", "etcd", "mariadb", "mysql",
                "postgres", "postgresql"]
REGISTRY = "src/engine/registry.cpp"

# Written in two halves so that this file may contain them.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"])
                        + r")\b")
CLOCKS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|system_clock|steady_clock)\b")
MUTEXES = re.compile(r"\bstd::(?:\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock"
                     r"|condition_variable\w*)\b")
VAGUE_NAME = re.compile(r"\b(?:class|struct)\s+(\w*?(?:manager|helper|utils?|impl)s?)\b", re.I)
# Adapters for other libraries: header-only, and no part of crosslock.hpp.
ADAPTED = {"include/crosslock/asio.hpp": ["asio/", "boost/asio/"]}
# A lock speaks to its client, and not through it to whatever stands behind.
REACHED_THROUGH = re.compile(r"\b(keeper\(\)|engine\(\)\s*\.)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def includes(text):
    for found in INCLUDE.finditer(cpp_text.without(text, "comment")):
        yield line_of(text, found.start()), found.group(1), found.group(2)


def short_lines(_path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_COLUMNS_MAX:
            yield number, f"{len(line)} columns; at most {LINE_COLUMNS_MAX}"


def short_files(_path, text):
    count = len(text.splitlines())
    if count > FILE_LINES_MAX:
        yield count, f"{count} lines; at most {FILE_LINES_MAX}: split the file"


def short_functions(_path, text):
    for first, last, head in cpp_text.functions(text):
        if last - first + 1 > FUNCTION_LINES_MAX:
            yield first, f"{last - first + 1} lines; at most {FUNCTION_LINES_MAX}: {head[:60]}"


def finished(_path, text):
    for found in UNFINISHED.finditer(text):
        yield line_of(text, found.start()), f"'{found.group()}': finish it, or file an issue"


def telling_names(_path, text):
    code = cpp_text.without(text, "comment", "literal")
    for found in VAGUE_NAME.finditer(code):
        yield line_of(code, found.start()), f"'{found.group(1)}' says nothing: name what it is"


def no_clocks(path, text):
    if not path.startswith("src/"):
        return
    code = cpp_text.without(text, "comment", "literal")
    for found in CLOCKS.finditer(code):
        yield (line_of(code, found.start()),
               f"'{found.group()}': time and waiting come from engine/clock.hpp")


def mutexes_are_followed(path, text):
    if not path.startswith("src/") or path == f"src/{GUARDED}":
        return
    code = cpp_text.without(text, "comment", "literal")
    for found in MUTEXES.finditer(code):
        yield (line_of(code, found.start()),
               f"'{found.group()}': clang follows only the mutexes of {GUARDED}")


def public_headers_alone(path, text):
    if not path.startswith("include/"):
        return
    for line, quote, name in includes(text):
        standard = re.fullmatch(r"[a-z_0-9]+", name)
        ours = name.startswith(("crosslock/", *ADAPTED.get(path, [])))
        if quote == '"' or not (standard or ours):
            yield line, f"public headers include the standard library and <crosslock/...>: {name}"


def layers_in_order(path, text):
    parts = path.split("/")
    if parts[0] != "src":
        return
    if parts[1] == "engines":
        own = parts[2]
        friends = [own, *ENGINE_FRIENDS.get(own, [])]
        allowed = [f"{name}/" for name in ["engine", *SHARED_BY_ENGINES]]
        allowed += [f"engines/{name}/" for name in friends]
    else:
        allowed = [f"{name}/" for name in LAYERS.get(parts[1], [])]
    for line, quote, name in includes(text):
        if quote == '"' and name != GUARDED and not name.startswith(tuple(allowed)):
            yield line, f"{'/'.join(parts[:-1])} may include {', '.join(allowed)} but not {name}"


def locks_ask_the_client(path, text):
    if not path.startswith("src/lock/"):
        return
    code = cpp_text.without(text, "comment", "literal")
    for found in REACHED_THROUGH.finditer(code):
        yield (line_of(code, found.start()),
               f"'{found.group()}' reaches through the client: give client/core.hpp a verb")


def only_registry_names_engines(path, text):
    parts = path.split("/")
    if parts[0] != "src" or parts[1] == "engines" or path == REGISTRY:
        return
    for line, _, name in includes(text):
        if name.startswith("engines/"):
            yield line, f"only {REGISTRY} knows engines, and it includes none: {name}"
    for line, content in cpp_text.literals(text):
        scheme = re.match(r"\w*", content).group()
        if scheme in ENGINE_NAMES:
            yield line, f"only {REGISTRY} names engines: \"{content}\""


TEXT_RULES = [short_lines, short_files, finished]
CPP_RULES = [*TEXT_RULES, short_functions, telling_names, no_clocks,
             mutexes_are_followed, public_headers_alone, layers_in_order, locks_ask_the_client,
             only_registry_names_engines]


def problems(path, text):
    """Everything wrong with a file, as lines for people; path is relative to the repository."""
    rules = CPP_RULES if path.endswith((".cpp", ".hpp")) else TEXT_RULES
    return [f"{path}:{line}: {problem}" for rule in rules for line, problem in rule(path, text)]


def engine_folder_problems(engine, files):
    """Every engine folder has the same file names; more are allowed."""
    return [f"src/engines/{engine}: {name} is missing; every engine folder has it"
            for name in ENGINE_FILES if name not in files]
