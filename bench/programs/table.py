#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py PROGRAMS.csv [PAGE.md]: the table of bench/results/programs.md, from what run_all.py wrote: printed, or put in its place in the page."""
import csv
import pathlib
import sys

WAYS = ("plain", "with, empty store", "with", "torch", "plain again")
HEAD = "| program | mode | plain | `with`, empty store | `with`, again | `tilejit.torch` | plain, again | largest difference (allowed) |"


def read(path):
    """Rows by case and mode, in the order of the file, each a dictionary by way."""
    cases = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            cases.setdefault((row["program"], row["case"], row["mode"]), {})[row["way"]] = row
    return cases


def times(ways, way):
    """How many times as fast as plain, or None if it was not measured."""
    return float(ways["plain"]["ms"]) / float(ways[way]["ms"]) if way in ways else None


def cell(ways, way):
    if way not in ways:
        return ""
    return ways[way]["ms"] if way == "plain" else f"{ways[way]['ms']} ({times(ways, way):.2f})"


def lines(cases):
    yield HEAD
    yield "| --- | --- | --: | --: | --: | --: | --: | --- |"
    for (program, case, mode), ways in cases.items():
        ours = [row for way, row in ways.items() if not way.startswith("plain") and row["difference"]]
        worst = max(ours, key=lambda row: float(row["difference"]), default=None)
        compared = f"{worst['difference']} ({worst['allowed']})" if worst else ""
        yield f"| {program}: {case} | {mode} | {' | '.join(cell(ways, way) for way in WAYS)} | {compared} |"


def replaced(page, table):
    """The page's lines, its table with this head replaced."""
    begin = page.index(HEAD)
    end = next((i for i in range(begin, len(page)) if not page[i].startswith("|")), len(page))
    return page[:begin] + table + page[end:]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    table = list(lines(read(sys.argv[1])))
    if len(sys.argv) == 2:
        print("\n".join(table))
        return
    page = pathlib.Path(sys.argv[2])
    page.write_text("\n".join(replaced(page.read_text().splitlines(), table)) + "\n")


if __name__ == "__main__":
    main()
