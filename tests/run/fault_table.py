"""The result of a fault run as a table: one line for each row of the fault matrix."""

import re

ROW = re.compile(r"(F\d+(?:_F\d+)*)_")


def of(engine, reports):
    """Cases of that engine, from the JSON reports of GoogleTest; those without a row come last."""
    rows = {}
    for case in cases_of(engine, reports):
        found = ROW.match(case["name"])
        name = found.group(1).replace("_", ", ") if found else "others"
        rows.setdefault(name, []).append(case)
    lines = [f"| {engine}: row | cases | result | expected overlaps |", "|---|---|---|---|"]
    for name in sorted(rows, key=row_order):
        cases = rows[name]
        overlaps = sum(int(case.get("expected_overlaps", 0)) for case in cases)
        lines.append(f"| {name} | {len(cases)} | {result_of(cases)} | {overlaps or '-'} |")
    return "\n".join(lines)


def cases_of(engine, reports):
    for report in reports:
        for suite in report["testsuites"]:
            if suite["name"].startswith(engine):
                yield from suite["testsuite"]


def result_of(cases):
    failed = sum(1 for case in cases if "failures" in case)
    skipped = sum(1 for case in cases if case.get("result") == "SKIPPED")
    if failed:
        return f"{failed} failed"
    return f"kept, {skipped} skipped" if skipped else "kept"


def row_order(name):
    number = re.search(r"\d+", name)
    return int(number.group()) if number else 1000
