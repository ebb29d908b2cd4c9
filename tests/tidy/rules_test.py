"""Bad snippets that the rules must refuse, and good ones that they must not."""

import rules

LONG_BODY = "  step();\n" * 60
UNFINISHED = "// TO" + "DO later\n"

# (rule, path, text): each must be refused by that rule.
BAD = [
    (rules.short_lines, "src/lock/a.cpp", "x" * 101 + "\n"),
    (rules.short_files, "src/lock/a.cpp", "\n" * 501),
    (rules.short_functions, "src/lock/a.cpp", f"int f() {{\n{LONG_BODY}}}\n"),
    (rules.short_functions, "src/lock/a.cpp",
     f"namespace a {{\nclass b {{\n  b() : c_{{1}}, d_{{2}} {{\n{LONG_BODY}}}\n}};\n}}\n"),
    (rules.short_functions, "src/lock/a.cpp",
     f"namespace {{\nauto f(int a)\n    -> int {{\n  if (a) {{\n{LONG_BODY}}}\n}}\n}}\n"),
    (rules.short_functions, "src/lock/a.cpp",
     f"int f() {{\n  auto s = \"}}\"; // }}\n  char c = '}}';\n{LONG_BODY}}}\n"),
    (rules.finished, "src/lock/a.cpp", UNFINISHED),
    (rules.telling_names, "src/lock/a.hpp", "class lock_manager {};\n"),
    (rules.telling_names, "src/lock/a.hpp", "struct FooImpl;\n"),
    (rules.no_clocks, "src/lock/a.cpp", "std::this_thread::sleep_for(1s);\n"),
    (rules.no_clocks, "src/keeper/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    (rules.mutexes_are_followed, "src/keeper/a.hpp", "mutable std::mutex mutex_;\n"),
    (rules.mutexes_are_followed, "src/engines/redis/a.cpp", "std::lock_guard guard{mutex_};\n"),
    (rules.mutexes_are_followed, "src/lock/a.cpp", "std::condition_variable_any news;\n"),
    (rules.public_headers_alone, "include/crosslock/a.hpp", "#include <unistd.h>\n"),
    (rules.public_headers_alone, "include/crosslock/a.hpp", '#include "engine/url.hpp"\n'),
    (rules.public_headers_alone, "include/crosslock/a.hpp", "#include <hiredis/hiredis.h>\n"),
    (rules.layers_in_order, "src/lock/a.cpp", '#include "keeper/keeper.hpp"\n'),
    (rules.layers_in_order, "src/local/a.cpp", '#include "client/core.hpp"\n'),
    (rules.layers_in_order, "src/cells/a.cpp", '#include "local/line.hpp"\n'),
    (rules.locks_ask_the_client, "src/lock/a.cpp", "core.engine().look(name, give_up);\n"),
    (rules.locks_ask_the_client, "src/lock/a.cpp", "core.keeper().draw_owner();\n"),
    (rules.layers_in_order, "src/keeper/a.cpp", '#include "local/line.hpp"\n'),
    (rules.layers_in_order, "src/engine/a.cpp", '#include "keeper/keeper.hpp"\n'),
    (rules.layers_in_order, "src/engines/redis/a.cpp", '#include "engines/etcd/engine.hpp"\n'),
    (rules.layers_in_order, "src/engines/redis/a.cpp", '#include "lock/core.hpp"\n'),
    (rules.layers_in_order, "src/engine/a.cpp", '#include "line_rules/rows.hpp"\n'),
    (rules.layers_in_order, "src/line_rules/a.cpp", '#include "keeper/keeper.hpp"\n'),
    (rules.layers_in_order, "src/session/a.cpp", '#include "keeper/keeper.hpp"\n'),
    (rules.layers_in_order, "src/session/a.cpp", '#include "engines/etcd/engine.hpp"\n'),
    (rules.layers_in_order, "src/engine/a.cpp", '#include "session/claims.hpp"\n'),
    (rules.only_registry_names_engines, "src/engine/a.cpp", '#include "engines/redis/a.hpp"\n'),
    (rules.only_registry_names_engines, "src/lock/a.cpp", 'auto url = "redis://";\n'),
]

# (path, text): no rule may complain.
GOOD = [
    ("src/lock/a.cpp", "std::string_view client::engine() const noexcept { return name; }\n"),
    ("src/client/a.cpp", '#include "engine/registry.hpp"\nkeeper().close(by);\n'),
    ("src/lock/a.cpp", '#include "local/line.hpp"\n#include <crosslock/mutex.hpp>\n'),
    ("src/lock/a.cpp", '#include "engine/guarded.hpp"\nseam::mutex like_std_mutex;\n'),
    ("src/engine/guarded.hpp", "std::mutex held_;\n"),
    ("tests/unit/a_test.cpp", "std::mutex mutex;\n"),
    ("src/lock/a.cpp", "// std::mutex documents it\n"),
    ("src/keeper/a.cpp", "// not with sleep_for\n#include <memory>\n"),
    ("src/engines/redlock/a.cpp", '#include "engines/redis/connection.hpp"\n'),
    ("src/engines/sqlite/a.cpp", '#include "line_rules/rows.hpp"\n'),
    ("src/line_rules/a.cpp", '#include "engine/claim.hpp"\n#include "line_rules/rows.hpp"\n'),
    ("src/engine/registry.cpp", 'auto scheme = "redis";\n'),
    ("src/lock/a.cpp", "struct implicit {};\nint f() {\n  return 1'000;\n}\n"),
    ("src/lock/a.cpp", "struct a {\n" + "  void f();\n" * 80 + "};\n"),
    ("src/lock/a.cpp", "const int table[] = {\n" + "    1,\n" * 80 + "};\n"),
    ("include/crosslock/a.hpp", "#include <crosslock/fence.hpp>\n#include <stop_token>\n"),
    ("tests/unit/a_test.cpp", "std::this_thread::sleep_for(1ms);\n"),
]


def check(tally):
    for number, (rule, path, text) in enumerate(BAD, 1):
        tally.check(f"{rule.__name__} refuses bad snippet {number}", list(rule(path, text)), text)
    for number, (path, text) in enumerate(GOOD, 1):
        found = rules.problems(path, text)
        tally.check(f"good snippet {number} is accepted", not found, "\n".join(found))
    complete = rules.engine_folder_problems("x", [*rules.ENGINE_FILES, "more.cpp"])
    lacking = rules.engine_folder_problems("x", rules.ENGINE_FILES[1:])
    tally.check("an engine folder needs every file", not complete and len(lacking) == 1)
