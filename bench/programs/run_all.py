#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_all.py --csv FILE: each program of this folder as it is and by TileJIT, compared, as a CSV that table.py and ../picture.py read.

Each program runs plain, under `tilejit with` with an empty store and again, with --torch if it has that option, and plain once more. A later
run is compared with the first: numbers by the norm of their difference over that of the first run's, which must be within the bound that
the program states; tokens by the number that agree before the first that differs. Exits with 1 if a run fails or a bound is exceeded.

Needs a GPU, the command, and the installed Python package for the way torch.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("gpt2", "llama", "experts", "recommender", "small_matrices", "autoencoder", "gaussian_process")
WAYS = ("plain", "with, empty store", "with", "torch", "plain again", "f32 sums", "in f32")
COLUMNS = ("device", "program", "case", "mode", "way", "ms", "wall_ms", "difference", "allowed", "tokens", "same_bits", "computed")
SECONDS = 100  # of one run, at most


def command(program, way, options):
    """The command line of a run, or None if the program cannot run in this way."""
    script = FOLDER / f"{program}.py"
    flag = {"torch": "--torch", "f32 sums": "--f32-sums", "in f32": "--in-f32"}.get(way)
    if flag and flag[2:].replace("-", "_") + "=" not in script.read_text():
        return None
    python = [sys.executable, str(script), *(["--tiny"] if options.tiny else []), *([flag] if flag else [])]
    return [options.tilejit, "with", "--verbose", "--", *python] if way.startswith("with") else python


def run(program, way, options, store, logs):
    """The lines that a run printed, and whether it ended well."""
    arguments = command(program, way, options)
    name = f"{program}_{way.replace(', ', '_').replace(' ', '_')}"
    begin = time.monotonic()
    with open(logs / f"{name}.log", "w") as log, open(logs / f"{name}.out", "w+") as out:
        try:
            code = subprocess.run(arguments, stdout=out, stderr=log, timeout=SECONDS, env={**os.environ, "TILEJIT_CACHE_DIR": str(store)}).returncode
        except subprocess.TimeoutExpired:
            code = "none: too long"
        out.seek(0)
        lines = [{"way": way, **json.loads(line)} for line in out if line.startswith("{") and line.endswith("}\n")]
    print(f"{name}: exit code {code}, {len(lines)} lines, {time.monotonic() - begin:.0f} s", flush=True)
    return lines, code == 0 and len(lines) > 0


def norm(values):
    return sum(value * value for value in values) ** 0.5


def difference(first, values):
    """Relative difference of two lists; infinite if it is not a number, or if their lengths differ."""
    if len(first) != len(values):
        return float("inf")
    distance = norm([a - b for a, b in zip(first, values)])
    return distance / norm(first) if distance > 0 else 0.0 if distance == 0 else float("inf")


def compare(line, first):
    """The columns that compare a line with the first run's of the same case and mode; the most exceeded bound counts."""
    mine, theirs = line["computed"], first["computed"]
    found = [(difference(theirs[name]["values"], mine[name]["values"]), bound) for name, bound in line["bounds"].items() if name in mine]
    worst = max(found, key=lambda pair: pair[0] / pair[1], default=("", ""))
    tokens = ""
    if "tokens" in mine:
        pairs = list(zip(mine["tokens"]["values"], theirs["tokens"]["values"]))
        equal = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
        tokens = f"{equal} of {len(pairs)}"
    same = all(mine[name]["digest"] == theirs[name]["digest"] for name in mine)
    return {"difference": worst[0] if worst[0] == "" else f"{worst[0]:.1e}", "allowed": worst[1], "tokens": tokens, "same_bits": "yes" if same else "no"}


def row(line, first):
    shown = "; ".join(f"{name} {', '.join(f'{value:.6g}' for value in part['values'][:2] + part['values'][2:][-1:])}"
                      for name, part in line["computed"].items())
    return {**{name: line[name] for name in ("device", "program", "case", "mode", "way")}, "ms": f"{line['ms']:.4g}", "wall_ms": f"{line['wall_ms']:.4g}",
            **compare(line, first), "computed": shown}


def exceeds(row):
    return row["difference"] != "" and not float(row["difference"]) <= float(row["allowed"])


def table(lines):
    """Rows for the CSV. A case that the first run lacks is left out: there is nothing to compare it with."""
    firsts = {(line["program"], line["case"], line["mode"]): line for line in lines if line["way"] == "plain"}
    keyed = [(line, firsts.get((line["program"], line["case"], line["mode"]))) for line in lines]
    return [row(line, first) for line, first in keyed if first]


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", metavar="FILE", required=True)
    parser.add_argument("--only", metavar="PROGRAM", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--ways", metavar="WAY", nargs="+", choices=WAYS, default=WAYS, help="besides plain, which always runs first")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes on the CPU")
    parser.add_argument("--tilejit", metavar="COMMAND", default="tilejit", help="the command (tilejit)")
    parser.add_argument("--logs", metavar="FOLDER", type=pathlib.Path, help="keep what the runs print here")
    parser.add_argument("--seconds", type=float, default=480, help="start no run after this time (480)")
    options = parser.parse_args()
    if any(way.startswith("with") for way in options.ways) and not shutil.which(options.tilejit):
        sys.exit(f"run_all.py: {options.tilejit} is not a command: name it with --tilejit, or leave 'with' out of --ways")
    begin, lines, failed = time.monotonic(), [], []
    with tempfile.TemporaryDirectory() as folder:
        logs = options.logs or pathlib.Path(folder)
        logs.mkdir(parents=True, exist_ok=True)
        for program in options.only:
            for way in sorted({"plain", *options.ways}, key=WAYS.index):
                if not command(program, way, options):
                    continue
                if time.monotonic() - begin > options.seconds:
                    failed.append(f"{program}, {way}: not run, because time is over")
                    continue
                printed, well = run(program, way, options, pathlib.Path(folder) / f"{program}.store", logs)
                lines += printed
                failed += [] if well else [f"{program}, {way}: failed"]
                write(options.csv, table(lines))
    failed += [f"{row['program']}, {row['case']}, {row['mode']}, {row['way']}: a difference of {row['difference']}, where {row['allowed']} is allowed"
               for row in table(lines) if exceeds(row)]
    for each in failed:
        print(f"run_all.py: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
