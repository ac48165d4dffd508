#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tables.py RESULTS.csv...: the tables of bench/results/matmul.md, as Markdown, from what tilejit bench --csv wrote.

Of a shape that several files hold, the last one counts: ratios are never taken between runs.
"""
import csv
import math
import statistics
import sys

CONTENDERS = ("zero_shot", "tuned", "cublas", "cublaslt")
OURS = CONTENDERS[:2]


def read(paths):
    rows = {}
    for path in paths:
        with open(path, newline="") as file:
            table = csv.DictReader(file)
            wanted = ["category", "shape", "flop", "floor_us", *(c + x for c in CONTENDERS for x in ("_us", "_state", "_how"))]
            missing = [name for name in wanted if name not in (table.fieldnames or ())]
            if missing:
                sys.exit(f"{path}: no column {missing[0]}: tilejit bench --csv writes such a file")
            for row in table:
                rows[row["shape"]] = row
    return list(rows.values())


def time(row, who):
    """Microseconds; None for what did not run, was not measured, or computed a wrong product."""
    return float(row[who + "_us"]) if row[who + "_state"] == "ok" and row[who + "_us"] else None


def ratio(row, a, b):
    """How many times as fast as a is b?"""
    return time(row, a) / time(row, b) if time(row, a) and time(row, b) else None


def ours(row):
    """TileJIT's faster contender; None if neither ran."""
    return min((who for who in OURS if time(row, who)), key=lambda who: time(row, who), default=None)


def floor_share(row):
    if not row["floor_us"]:
        return None
    return 100 * float(row["floor_us"]) / time(row, ours(row))


def geomean(rows, a, b):
    known = [ratio(row, a, b) for row in rows if ratio(row, a, b)]
    return math.exp(statistics.fmean(map(math.log, known))) if known else None


def number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def line(*cells):
    print("| " + " | ".join(cells) + " |")


def print_means_of(name, rows):
    worst = min((r for r in (ratio(row, "cublaslt", "tuned") for row in rows) if r), default=None)
    shares = [floor_share(row) for row in rows if ours(row) and row["floor_us"]]
    line(name, str(len(rows)), number(geomean(rows, "cublaslt", "zero_shot"), 3), number(geomean(rows, "cublaslt", "tuned"), 3),
         number(geomean(rows, "cublas", "tuned"), 3), number(geomean(rows, "tuned", "zero_shot"), 3), number(worst, 3),
         number(statistics.median(shares) if shares else None, 0))


def print_means(rows):
    line("category", "shapes", "zero-shot / cuBLASLt", "tuned / cuBLASLt", "tuned / cuBLAS", "zero-shot / tuned",
         "worst tuned / cuBLASLt", "bandwidth floor, median %")
    line("---", *["--:"] * 7)
    for category in dict.fromkeys(row["category"] for row in rows):
        print_means_of(category, [row for row in rows if row["category"] == category])
    print_means_of("**all**", rows)


def print_shapes(rows):
    line("shape", "zero-shot, us", "tuned, us", "cuBLAS, us", "cuBLASLt, us", "tuned / cuBLASLt", "TFLOP/s", "bandwidth floor, %",
         "config of the faster")
    line("---", *["--:"] * 7, "---")
    for row in rows:
        who = ours(row)
        times = (number(time(row, c), 2) if row[c + "_state"] in ("ok", "absent") else row[c + "_state"].upper() for c in CONTENDERS)
        line(row["shape"], *times, number(ratio(row, "cublaslt", "tuned"), 3),
             number(float(row["flop"]) / time(row, who) / 1e6 if who else None, 2), number(floor_share(row) if who else None, 0),
             f"`{row[who + '_how']}`" if who else "-")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: tables.py RESULTS.csv...")
    try:
        rows = read(sys.argv[1:])
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    print_means(rows)
    print()
    print_shapes(rows)


if __name__ == "__main__":
    main()
