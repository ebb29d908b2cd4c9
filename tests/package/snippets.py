"""The C++ in README.md and docs/ is compiled and run, so that it cannot rot.

Every ```cpp block is a program: its #include lines, then the rest, put into main() unless it has
one. A URL of a server is replaced by `memory:`; what is embedded runs as it is written. A block
that is only an excerpt is marked by an HTML comment `<!-- excerpt -->` on the line before it."""

import re

from tally import ROOT, environment, run

BLOCK = re.compile(r"(<!-- excerpt -->\s*)?^```(?:cpp|c\+\+)\n(.*?)^```", re.S | re.M)


def check(tally, flags, folder):
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.exists():
            for number, block in enumerate(blocks(page.read_text()), 1):
                where = f"{page.relative_to(ROOT)}, C++ block {number}"
                check_block(tally, where, program_of(block), flags, folder)


def blocks(text):
    return [body for excerpt, body in BLOCK.findall(text) if not excerpt]


def program_of(block):
    block = re.sub(r'connect\("(?!memory:|sqlite:)[^"]*"', 'connect("memory:"', block)
    if "int main(" in block:
        return block
    lines = block.splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    return "\n".join([*includes, "int main() {", *body, "}", ""])


def check_block(tally, where, program, flags, folder):
    source, binary = folder / "snippet.cpp", folder / "snippet"
    source.write_text(program)
    code, said = run(["g++", "-std=c++20", source, "-o", binary, *flags])
    if tally.check(f"{where} compiles", code == 0, said):
        code, said = run([binary], 60, env=environment(HOME=str(folder)), cwd=folder)
        tally.check(f"{where} runs", code == 0, f"exit code {code}\n{said}")
