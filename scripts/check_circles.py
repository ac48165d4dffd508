#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tier: quick
"""Within a room no files form a circle: by the symbols that their objects use, and by the headers that headers include.

    check_circles.py [BUILD]        a build folder with objects; else build/dev
    check_circles.py --self-test    is a circle found?

A room is an object library of CMakeLists.txt. Its objects say which file defines a function or a table, and which file uses it. The
circles that are left on purpose stand in ALLOWED, each with its reason; one that is not there, and one that is gone, is an error.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOMS = "include base problem generator analysis reference src tuner blas fleet cli bench emulator".split()

# A file, a file that it may use although that leads back to it, and why. * is one part of a path.
ALLOWED = [
    ("generator/family.c", "generator/families/*/form.c", "the table of families names each, and they ask it for their parameters"),
    ("generator/config.c", "generator/families/tiled/form.c", "a config that names no family is of the simplest fast one"),
    ("generator/families/*/form.c", "generator/families/*/counts.c", "the row of a family names its counts, which read its form"),
    ("generator/families/simt/form.c", "generator/families/simt/copy.c", "they settle each other's sizes"),
    ("emulator/machine/mbarrier.c", "emulator/machine/arrival.c", "a barrier completes what arrives at it, and arrivals are at a barrier"),
    ("emulator/machine/warpgroup.c", "emulator/machine/step.c", "an instruction of four warps is counted as a step is, where the compiler sees both"),
]


def fits(path, pattern):
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), path) is not None


def symbols(objects):
    """Return the symbols that each object defines for others and uses: {object: (defined, used)}."""
    found = {path: (set(), set()) for path in objects}
    listing = subprocess.run(["nm", "-A", *objects], capture_output=True, text=True, check=True).stdout

    for line in listing.splitlines():
        path, rest = line.rsplit(":", 1)
        kind, name = rest.split()[-2:]
        if kind == "U":
            found[path][1].add(name)
        elif kind.isupper():
            found[path][0].add(name)
    return found


def uses_of_room(folder, home):
    """{file: {file that it uses: names}} of one object library, whose sources lie under home."""
    objects = sorted(str(path) for path in folder.rglob("*.o"))
    if not objects:
        return {}
    source = {path: os.path.normpath(os.path.join(home, os.path.relpath(path, folder).removesuffix(".o"))) for path in objects}
    objects = [path for path in objects if Path(source[path]).is_file()]  # a file may be gone since, and its object still be there
    found = symbols(objects)
    owner = {name: source[path] for path in objects for name in found[path][0]}
    uses = {source[path]: {} for path in objects}

    for path in objects:
        for name in found[path][1]:
            if name in owner:
                uses[source[path]].setdefault(owner[name], set()).add(name)
    return uses


def uses_of_headers():
    """The same of all headers, by their includes."""
    headers = sorted(str(path) for room in ROOMS for path in Path(room).rglob("*.h"))
    uses = {}

    for header in headers:
        uses[header] = {}
        for name in re.findall(r'^#include [<"]([^>"]+)[>"]', Path(header).read_text(), re.M):
            near = os.path.normpath(os.path.join(os.path.dirname(header), name))
            for other in [near] if near in headers else [other for other in headers if other.endswith("/" + name)]:
                uses[header].setdefault(other, set()).add("#include")
    return uses


def circles(uses):
    """Sets of files that reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in uses.get(file, {}):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            at = stack.index(file)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in sorted(uses):
        if file not in index:
            visit(file)
    return found


def check(build):
    """Complaints, a line each, about the files of the current folder."""
    rooms = [uses_of_room(folder, "") for folder in sorted((build / "CMakeFiles").glob("tj_*.dir"))]
    rooms += [uses_of_room(folder, "emulator") for folder in sorted((build / "emulator/CMakeFiles").glob("cuda_emulator_*.dir"))]
    complaints, needed, seen = [], set(), set()

    if not any(rooms):
        return [f"{build} has no objects: build it, or name a build folder"]
    for uses in [*rooms, uses_of_headers()]:
        inside = {file: number for number, circle in enumerate(circles(uses)) for file in circle}
        for file, others in uses.items():
            for row in (row for row in ALLOWED if fits(file, row[0])):
                seen.add(row)
                for other in [other for other in others if fits(other, row[1])]:
                    if file in inside and inside[file] == inside.get(other):
                        needed.add(row)
                    del others[other]
        for circle in circles(uses):
            complaints.append(f"{len(circle)} files form a circle:")
            for file in circle:
                for other in sorted(set(uses[file]) & set(circle)):
                    complaints.append(f"    {file} uses {other}: {', '.join(sorted(uses[file][other]))}")
    complaints += [f"{row[0]} and {row[1]} form no circle any more: take the row out" for row in seen - needed]
    return complaints


def self_test():
    """A circle of two objects, and one of two headers, is found; a line of two is not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        objects = Path("build/CMakeFiles/tj_base.dir/base")
        objects.mkdir(parents=True)
        Path("base").mkdir()

        def write(name, text):
            Path("base", name).write_text(text)
            if name.endswith(".c"):
                subprocess.run(["cc", "-c", f"base/{name}", "-o", objects / f"{name}.o"], check=True)

        write("one.c", "int two(void); int one(void) { return two(); }")
        write("two.c", "int two(void) { return 2; }")
        write("one.h", '#include "two.h"\n')
        write("two.h", "")
        assert check(Path("build")) == [], check(Path("build"))
        write("two.c", "int one(void); int two(void) { return one(); }")
        assert check(Path("build"))[0] == "2 files form a circle:", check(Path("build"))
        write("two.c", "int two(void) { return 2; }")
        write("two.h", '#include "one.h"\n')
        assert check(Path("build"))[0] == "2 files form a circle:", check(Path("build"))
        os.chdir("/")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    build = Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
    os.chdir(Path(__file__).resolve().parent.parent)
    complaints = check(build)
    for line in complaints:
        print(f"check_circles: {line}", file=sys.stderr)
    if complaints:
        sys.exit(1)
    print("check_circles: no complaint")


main()
