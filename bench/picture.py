#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py PROGRAMS.csv PRODUCTS.csv FOLDER: draws README's picture into FOLDER, as programs.svg and, for narrow screens,
programs-narrow.svg, and prints the text that stands in for it.

PROGRAMS.csv is from programs/run_all.py, PRODUCTS.csv from programs.py. A bar says how many times as fast a program or a product is, on a
logarithmic scale; it points to the left if TileJIT is slower. Readable in light and dark; no font, script or style from elsewhere.
"""
import csv
import math
import pathlib
import sys
from xml.sax.saxutils import escape

ROW, HEADING, NUMBER = 22, 50, 44  # pixels; NUMBER: room for the ratio at the end of a bar
WIDE = {"width": 840, "labels": 330, "times": 130}  # times: room for both times, at the right edge
NARROW = {"width": 420, "labels": 300, "times": 0}
STYLE = """
  .page { fill: #ffffff }
  text { font: 13px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .heading { font-weight: 600; font-size: 14px }
  .quiet { fill: #59636e; font-size: 12px }
  .end { text-anchor: end }
  .faster { fill: #1a7f37 }
  .slower { fill: #bc4c00 }
  .axis { stroke: #8c959f }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .faster { fill: #3fb950 }
    .slower { fill: #db6d28 }
  }
"""


def of_programs(path):
    """
    (label, time of the plain run, ours, unit) for each case: of a CUDA graph where there is one, because the host's part of an eager step
    differs between two plain runs. A row of tilejit.torch stands only where it is clearly faster than the unchanged program.
    """
    cases = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            cases.setdefault((row["program"], row["case"]), {}).setdefault(row["mode"], {})[row["way"]] = float(row["ms"])
    rows = []
    for (program, case), modes in cases.items():
        ms = modes.get("graph", modes.get("eager"))
        label = f"{program.removesuffix(' in plain PyTorch')}: {case.split(', 4 x')[0].removeprefix('a ')}"
        unchanged = ms.get("with", ms.get("with, empty store"))
        rows.append((label, ms["plain"], unchanged, "ms"))
        if "torch" in ms and ms["torch"] < 0.97 * unchanged:
            rows.append((f"{label}, tilejit.torch", ms["plain"], ms["torch"], "ms"))
    return rows


def of_products(path):
    with open(path, newline="") as file:
        return [(f"{row['program']}: {row['product']}", float(row["torch_us"]), float(row["tilejit_us"]), "us") for row in csv.DictReader(file)]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def bar(row, y, x, size):
    label, theirs, ours, unit = row
    ratio = theirs / ours
    begin, end = sorted((x(1), x(ratio)))
    kind = "faster" if ratio >= 1 else "slower"
    yield f'<text class="end" x="{size["labels"]}" y="{y + 15}">{escape(label)}</text>'
    yield f'<rect class="{kind}" x="{begin:.1f}" y="{y + 4}" width="{max(end - begin, 1):.1f}" height="{ROW - 8}" rx="2"/>'
    yield f'<text x="{end + 5:.1f}" y="{y + 15}">{ratio:.2f}</text>'
    if size["times"]:
        yield f'<text class="quiet end" x="{size["width"] - 8}" y="{y + 15}">{number(theirs)} to {number(ours)} {unit}</text>'


def draw(panels, size):
    ratios = [theirs / ours for _, _, rows in panels for _, theirs, ours, _ in rows]
    least, most = math.log(min(ratios + [1])), math.log(max(ratios + [1.1]))
    left = size["labels"] + 8
    space = size["width"] - left - NUMBER - size["times"]
    x = lambda ratio: left + space * (math.log(ratio) - least) / (most - least)
    height = sum(HEADING + ROW * len(rows) + 10 for _, _, rows in panels)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{size["width"]}" height="{height}" viewBox="0 0 {size["width"]} {height}" role="img">'
    yield f"<title>{escape(alternative(panels))}</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="page" width="{size["width"]}" height="{height}"/>'
    y = 0
    for heading, explanation, rows in panels:
        yield f'<text class="heading" x="8" y="{y + 20}">{escape(heading)}</text>'
        yield f'<text class="quiet" x="8" y="{y + 38}">{escape(explanation)}</text>'
        y += HEADING
        for i, row in enumerate(rows):
            yield from bar(row, y + ROW * i, x, size)
        yield f'<line class="axis" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{y}" y2="{y + ROW * len(rows)}"/>'
        y += ROW * len(rows) + 10
    yield "</svg>"


def alternative(panels):
    """The picture in a sentence."""
    (_, _, programs), (_, _, products) = panels
    best = max((row for row in programs if "tilejit" not in row[0]), key=lambda row: row[1] / row[2])
    ratios = [theirs / ours for _, theirs, ours, _ in products]
    return (f"{best[0]}, unchanged, takes {number(best[2])} {best[3]} instead of {number(best[1])}; "
            f"single products are {min(ratios):.2f} to {max(ratios):.2f} times as fast as in PyTorch")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    panels = [('Whole programs: how many times as fast by "tilejit with"?', "unchanged programs, as CUDA graphs where they can be; one H200", of_programs(sys.argv[1])),
              ("Single products: how many times as fast as PyTorch's?", "in CUDA graphs, nothing tuned; one H200", of_products(sys.argv[2]))]
    for name, size in (("programs", WIDE), ("programs-narrow", NARROW)):
        (pathlib.Path(sys.argv[3]) / f"{name}.svg").write_text("\n".join(draw(panels, size)) + "\n")
    print(alternative(panels))


if __name__ == "__main__":
    main()
