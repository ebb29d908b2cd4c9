"""Reading C++ just well enough for the rules: without comments and literals, and by functions."""

import re

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)")'
    r'|(?P<text>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')", re.S)


def without(text, *kinds):
    """The text with comments ("comment") or literals ("literal") blanked; lines keep their
    numbers. Includes are no literals."""
    def blank(found):
        kind = "comment" if found.group("comment") is not None else "literal"
        in_include = text.rfind("#include", text.rfind("\n", 0, found.start()) + 1,
                                found.start()) != -1
        if kind not in kinds or (kind == "literal" and in_include):
            return found.group()
        return re.sub(r"[^\n]", " ", found.group())
    return TOKEN.sub(blank, text)


def literals(text):
    """(line number, content) of every string literal outside of includes."""
    for found in TOKEN.finditer(text):
        line_start = text.rfind("\n", 0, found.start()) + 1
        if found.group("text") and "#include" not in text[line_start:found.start()]:
            yield text.count("\n", 0, found.start()) + 1, found.group("text")[1:-1]


def functions(text):
    """(first line, last line, head) of every function body that stands in a namespace or class.

    Our format puts a space before the brace of a body and none before that of an initialiser, so
    the two can be told apart without parsing expressions."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  without(text, "comment", "literal"), flags=re.M)
    open_braces, head_start, found = [], 0, []
    for place, char in enumerate(code):
        if char == "{":
            head = code[head_start:place]
            kind = _kind(head, open_braces)
            first = head_start + len(head) - len(head.lstrip())
            open_braces.append((kind, first, head))
            if kind != "initialiser":
                head_start = place + 1
        elif char == "}" and open_braces:
            kind, first, head = open_braces.pop()
            if kind == "function":
                found.append((code.count("\n", 0, first) + 1, code.count("\n", 0, place) + 1,
                              " ".join(head.split())))
            if kind != "initialiser":
                head_start = place + 1
        elif char == ";":
            head_start = place + 1
    return found


def _kind(head, open_braces):
    if any(kind in ("function", "initialiser") for kind, _, _ in open_braces):
        return "inner"
    if head and not head[-1].isspace():
        return "initialiser"
    if re.search(r"\bnamespace\b|\bextern\s*$", head):
        return "namespace"
    if "(" in re.sub(r"\[\[.*?\]\]|alignas\s*\([^()]*\)", "", head):
        return "function"
    return "class"
