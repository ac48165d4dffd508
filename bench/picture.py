#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py PROGRAMS.csv > PICTURE.svg: the picture of README, from what programs.py --csv wrote: a bar for each product, as long as
TileJIT is faster than PyTorch on a logarithmic scale, to the left of 1 where it is slower.

Readable in light and dark, and on a narrow screen; no font, script or style from elsewhere.
"""
import csv
import math
import sys
from xml.sax.saxutils import escape

WIDTH, ROW, TOP, LABELS, END = 760, 24, 56, 300, 56  # pixels; LABELS: the text to the left of the bars; END: to their right
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .quiet { fill: #59636e }
  .end { text-anchor: end }
  .faster { fill: #2f7d4f }
  .slower { fill: #b35900 }
  .axis { stroke: #8c959f; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .faster { fill: #4ab874 }
    .slower { fill: #e08b3e }
  }
"""


def read(path):
    with open(path, newline="") as file:
        return [(f"{row['program']}: {row['product']}", float(row["torch_us"]), float(row["tilejit_us"])) for row in csv.DictReader(file)]


def draw(rows):
    ratios = [theirs / ours for _, theirs, ours in rows]
    least, most = math.log(min(ratios + [0.9])), math.log(max(ratios + [1.1]))
    space = WIDTH - LABELS - 2 * END
    x = lambda ratio: LABELS + END + space * (math.log(ratio) - least) / (most - least)
    height = TOP + ROW * len(rows) + 12
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">'
    yield '<title id="title">How many times as fast as PyTorch is TileJIT?</title>'
    yield f"<style>{STYLE}</style>"
    yield '<text class="title" x="8" y="20">How many times as fast as PyTorch?</text>'
    yield '<text class="quiet" x="8" y="40">time of PyTorch / time of TileJIT, logarithmic; nothing tuned, H200</text>'
    for i, ((label, theirs, ours), ratio) in enumerate(zip(rows, ratios)):
        y = TOP + ROW * i
        begin, end = sorted((x(1), x(ratio)))
        kind = "faster" if ratio >= 1 else "slower"
        yield f'<text class="end" x="{LABELS}" y="{y + 16}">{escape(label)}</text>'
        yield f'<rect class="{kind}" x="{begin:.1f}" y="{y + 4}" width="{max(end - begin, 1):.1f}" height="{ROW - 8}" rx="2"/>'
        place = f'x="{end + 6:.1f}"' if ratio >= 1 else f'class="end" x="{begin - 6:.1f}"'
        yield f'<text {place} y="{y + 16}">{ratio:.2f}</text>'
    yield f'<line class="axis" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="{TOP - 4}" y2="{height - 8}"/>'
    yield "</svg>"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split(":")[0])
    print("\n".join(draw(read(sys.argv[1]))))


if __name__ == "__main__":
    main()
