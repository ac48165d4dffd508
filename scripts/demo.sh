#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install missing packages, build TileJIT, and multiply two real matrices with a kernel written for exactly that product.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_build_tools
say "building"
cmake --preset release >/dev/null
cmake --build --preset release
tilejit=$PWD/build/release/tilejit

private_python numpy:numpy
need_nvrtc "$tilejit"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "two matrices, written by NumPy: M (512 x 300), N (300 x 700)"
"$python" - "$work" <<'PYTHON'
import sys, numpy
random = numpy.random.default_rng(2026)
numpy.save(sys.argv[1] + "/M.npy", random.standard_normal((512, 300), dtype=numpy.float32))
numpy.save(sys.argv[1] + "/N.npy", random.standard_normal((300, 700), dtype=numpy.float32))
PYTHON

say "P = M . N"
"$tilejit" matmul "$work/M.npy" "$work/N.npy" -o "$work/P.npy"
"$python" - "$work" <<'PYTHON'
import sys, numpy
M, N, P = (numpy.load(f"{sys.argv[1]}/{name}.npy").astype(numpy.float64) for name in "MNP")
error = numpy.abs(P - M @ N)
bound = 302 * 2.0**-24 * (numpy.abs(M) @ numpy.abs(N))
assert P.shape == (512, 700) and numpy.all(error <= bound), "NumPy disagrees"
print(f"NumPy agrees: largest error {error.max():.2e}, bound {bound.max():.2e}")
PYTHON

say "the kernel is in the store"
"$tilejit" cache list | sed -n 1,6p
echo
echo "The command is $tilejit; try:  $tilejit generate 512x300x700"
