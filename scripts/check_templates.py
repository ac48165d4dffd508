#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a template CUDA, rather than directives? Do templates and C agree about their parameters, and does the page describe each?

    check_templates.py                  complain of a limit that is passed, and of a name that only one side knows
    check_templates.py --list           list the share of directives and the flags by file
    check_templates.py --self-test      is each fault found?

A parameter has a line in docs/templates.md; one of N may be told with that of M. Names in capitals are told by the comment where a
template declares them. Of the lines that are not blank, those with a directive (//@) are counted; of the names in conditions, different ones. A file of
at most SMALL_FILE lines may be a list of parts. A name counts as set if the generator's C has it as a string, or composes it.
"""
import re
import sys
from pathlib import Path

TOTAL_PERCENT, FLAGS, FILE_PERCENT, SMALL_FILE = 26, 125, 50, 20

SETTER = r'tj_template_(?:set|set_int|set_flag|take_lines|set_lines)\(\s*\w+,\s*'


def directives(line):
    """Return the directives of a line, without //@."""
    return [part.strip() for part in re.split(r"//@(?!\|)", line)[1:]]


def conditions(text):
    """Return the names in a condition."""
    return {name for name in re.findall(r"\w+", text) if name not in ("and", "or", "not")}


def read(text):
    """Return the lines, those with directives, the names in conditions, and all names that a template asks for."""
    lines = [line for line in text.splitlines() if line.strip()]
    flags, names = set(), set()

    for line in lines:
        for directive in directives(line):
            word, rest = (directive.split(None, 1) + ["", ""])[:2]
            if word in ("if", "elif", "only"):
                flags |= conditions(rest)
            elif re.search(r"&&|\|\||,", directive) and word != "with":
                flags |= conditions(directive)
            elif word in ("lines", "instead", "repeat"):
                names.add(rest)
            elif word not in ("else", "end", "with"):
                names.add(word)
        names |= set(re.findall(r"^[\s/@|]*(?:constexpr .*?|using )(\w+) = ", line))
        names |= set(re.findall(r"\b(\w+)\($", line))
    return len(lines), sum("//@" in line for line in lines), flags, flags | names


def set_in(c):
    """Return the names that C's text passes as they are to a setter, all its strings, and patterns of names that it composes."""
    strings = set(re.findall(r'"([\w%]+)"', c)) | set(re.findall(r"MEMBER\((\w+)\)", c))  # MEMBER: of problem/epilogue.c
    strings |= {renamed(name, {("n", "m")}) for name in strings} if "tj_template_set_of" in c else set()
    strings |= {f"{letter}_{name}" for name in strings for letter in "mn"} if "%c_%s" in strings else set()
    patterns = [re.sub(r"%[cs]", r"[a-z0-9]+", s) for s in strings if "%" in s and re.search(r"[a-z]{2}", re.sub("%[cs]", "", s))]

    patterns += [name + r"_\w+" for name in re.findall(r'set_flag\(params, "(\w+)"', c)]
    patterns += [r"\w_" + name for name in re.findall(r'set_flag\(params, [^",]+, "(\w+)"', c)]
    patterns += [name + "_[mn]" for name in re.findall(r'name_of\("(\w+)"', c)]
    return set(re.findall(SETTER + r'"(\w+)"', c)), strings, re.compile("|".join(patterns) or "$.")


def renamed(name, other_words):
    """Return the name as a part that is included with other words (//@ with n for m) reads it."""
    to = {old: new for new, old in other_words}
    return "_".join(to.get(piece, piece) for piece in name.split("_"))


def compare(templates, c):
    """Return the complaints about names: templates is {name: text}."""
    passed, strings, composed = set_in(c)
    known, flags = set(re.findall(r'"(\w+)"', " ".join(re.findall(r"tj_template_get\([^;]*;", c)))), {}
    other_words = {pair for text in templates.values() for line in text.splitlines() for directive in directives(line)
                   if directive.startswith("with ") for pair in re.findall(r"(\w+) for (\w+)", directive)}

    for name, text in templates.items():
        _, _, mine, names = read(text)
        known |= names | {renamed(n, other_words) for n in names}
        for flag in mine:
            flags.setdefault(flag, name)
    return [f"{name}: no C file sets {flag}" for flag, name in sorted(flags.items()) if flag not in strings and not composed.fullmatch(flag)] + [
        f"generator/: no template reads {name}" for name in sorted(passed - known)]


def untold(templates, c, page):
    """Return the complaints about parameters that no line of a table of the page names."""
    _, strings, composed = set_in(c)
    told = {name for line in page.splitlines() if line.startswith("|") for code in re.findall(r"`([^`]+)`", line)
            for name in re.findall(r"\w+", code)}
    marked = "\n".join(line for text in templates.values() for line in text.splitlines() if "//@" in line)
    names = read(marked)[3]
    parameters = {name for name in names if re.search("[a-z]", name) and (name in strings or composed.fullmatch(name))}

    return [f"docs/templates.md: no line of a table names {name}" for name in sorted(parameters)
            if name not in told and renamed(name, {("m", "n")}) not in told]


def measure(templates, total_percent, most_flags, file_percent, small_file):
    """Return the complaints about limits, and the table of --list."""
    rows = [(name, *read(text)[:3]) for name, text in templates.items()]
    lines, marked = sum(row[1] for row in rows), sum(row[2] for row in rows)
    flags = set().union(*(row[3] for row in rows))
    faults = [f"{name}: {m} of {n} lines have a directive, and {file_percent} % may: move a variant into a part, or a formula into C"
              for name, n, m, _ in rows if n > small_file and 100 * m > file_percent * n]

    if 100 * marked > total_percent * lines:
        faults.append(f"templates/: {marked} of {lines} lines have a directive, and {total_percent} % may")
    if len(flags) > most_flags:
        faults.append(f"templates/: conditions have {len(flags)} names, and {most_flags} are the limit")
    table = [f"{m:5} {n:5} {100 * m // n:4} % {len(f):4}  {name}" for name, n, m, f in sorted(rows, key=lambda row: -row[2])]
    table.append(f"{marked:5} {lines:5} {100 * marked / lines:6.1f} % {len(flags):4}  templates/")
    return faults, table


def self_test():
    text = "int a = 1;  //@ width\n\n#include \"b\"  //@ with n for m\n//@ if wide and not m_deep\nf(a && b);  //@ tall && unknown\n//@ end\nconstexpr int BM = 1;\n"
    c = 'tj_template_set(fill, "width", x); tj_template_set_int(fill, "BM", 1); set(fill, "tall"); name(n, "%c_deep");' \
        'tj_template_set_flag(fill,\n "unread", 1); set_flag(params, letter, "array"); on = "wide"; tj_template_set(fill, "n_deep", "");'

    assert compare({"a.cu": text}, c) == ["a.cu: no C file sets unknown", "generator/: no template reads unread"], compare({"a.cu": text}, c)
    assert untold({"a.cu": text}, c, "| `width`, `wide` | of `m_deep` |\n`tall`") == ["docs/templates.md: no line of a table names tall"]
    assert read(text)[:2] == (6, 5) and len(read(text)[2]) == 4, read(text)
    assert [len(measure({"a.cu": text}, *limits)[0]) for limits in [(84, 4, 84, 5), (83, 4, 84, 5), (84, 3, 84, 5), (84, 4, 83, 5), (84, 4, 83, 6)]] == [0, 1, 1, 1, 0]


def main():
    root = Path(__file__).resolve().parent.parent
    templates = {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.glob("templates/*/*.cu*"))}
    c = "\n".join(path.read_text() for folder in ("generator", "problem") for path in sorted((root / folder).rglob("*.c")))

    if "--self-test" in sys.argv:
        return self_test()
    faults, table = measure(templates, TOTAL_PERCENT, FLAGS, FILE_PERCENT, SMALL_FILE)
    faults += compare(templates, c) + untold(templates, c, (root / "docs/templates.md").read_text())
    if "--list" in sys.argv:
        print("\n".join(table))
        return 0
    for fault in faults:
        print(f"check_templates: {fault}", file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
