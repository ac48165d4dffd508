#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Count the problems of the tables of trials that ship, and hold docs/trials.md to it.

    check_trials.py            compare the page's table with trials/*.tjtrials
    check_trials.py --write    write it into the page
"""
import re
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
PAGE = TREE / "docs/trials.md"
PART = re.compile(r"(?s)(<!-- trials -->\n).*?(<!-- /trials -->)")


def kind_of(line):
    """Return type and layouts: "bf16 N:col", with "batches" where there are several products."""
    words = line.split(" ")[3:]
    return " ".join(word for word in words if not word.startswith("batch=")) + (" batches" if "batch=" in line else "")


def table():
    counts, devices = {}, []
    for path in sorted(TREE.glob("trials/*.tjtrials")):
        lines = path.read_text().split("\n")
        devices.append(re.search(r'"name":"([^"]*)"', lines[1]).group(1))
        for line in lines:
            if line.startswith("j"):
                row = counts.setdefault(kind_of(line), {})
                row[devices[-1]] = row.get(devices[-1], 0) + 1
    text = "| kind | " + " | ".join(devices) + " |\n|---|" + "--:|" * len(devices) + "\n"
    for kind in sorted(counts):
        text += f"| `{kind}` | " + " | ".join(str(counts[kind].get(device, "")) for device in devices) + " |\n"
    return text.replace("|  |", "| |")


def main():
    page = PAGE.read_text()
    held = PART.sub(lambda match: match.group(1) + "\n" + table() + "\n" + match.group(2), page)
    if "--write" in sys.argv:
        PAGE.write_text(held)
    elif held != page:
        sys.exit("check_trials: docs/trials.md does not count the tables of trials/ rightly: scripts/check_trials.py --write")
    print("check_trials: no complaint")


if __name__ == "__main__":
    main()
