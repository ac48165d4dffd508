#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loops.py CUBIN [PART_OF_A_KERNEL'S_NAME]: the loops of kernels, by counting their machine code. No GPU is needed, but nvdisasm.

For each loop its instructions, those of loops inside included, and how many of them multiply, copy tiles, move sums and
synchronise. Not shown are loops that wait for a barrier, and those of one copy, which pass through once.
"""
import collections
import re
import subprocess
import sys

COUNTED = ("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "HGMMA", "HMMA", "UTMALDG", "LDTM", "STS", "STSM", "UTMASTG", "STG", "SYNCS")
LEAST = 12  # instructions of a loop that is shown


def kernels(text):
    """(name, instructions, {label: the instruction after it}) of each kernel."""
    code, labels = None, None
    for line in text.splitlines():
        if found := re.search(r"\.section\t\.text\.(\S+?),", line):
            code, labels = [], {}
            yield found.group(1), code, labels  # which fill as the next lines are read
        elif code is not None and (found := re.match(r"(\.L\w+):", line)):
            labels[found.group(1)] = len(code)
        elif code is not None and (found := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)):
            code.append(found.group(1))


def opcode(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].split(".")[0]


def loops(code, labels):
    """(first, end): what a conditional branch goes back over. Those without a condition return from a wait."""
    for at, instruction in enumerate(code):
        if found := re.match(r"(?:@.*BRA|BRA\.U !?UP).*`\((\.L\w+)\)", instruction):
            first = labels.get(found.group(1), len(code))
            if first + LEAST <= at + 1:
                yield first, at + 1


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    text = subprocess.run(["nvdisasm", "-c", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    for name, code, labels in list(kernels(text)):
        if name.find(sys.argv[-1] if len(sys.argv) > 2 else "") < 0:
            continue
        print(f"{name}: {len(code)} instructions")
        found = sorted(loops(code, labels), key=lambda loop: (loop[0], -loop[1]))
        for first, end in found:
            depth = sum(other != (first, end) and other[0] <= first and end <= other[1] for other in found)
            counts = collections.Counter(map(opcode, code[first:end]))
            print(f"  {'  ' * depth}{end - first} instructions:", ", ".join(f"{counts[o]} {o}" for o in COUNTED if counts[o]) or "-")


main()
