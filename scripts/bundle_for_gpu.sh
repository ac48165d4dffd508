#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collect the files that prove a build on a GPU machine, without a compiler or any -dev package there: the command, the GPU tests, the
# bench programs with their shapes, and their libraries, in build/gpu-bundle. On that machine, run build/gpu-bundle/run_all.sh build/gpu-bundle
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_build_tools
cmake --preset release -DTILEJIT_BUILD_GPU_TESTS=ON >/dev/null
cmake --build --preset release
bundle=build/gpu-bundle
rm -rf "$bundle"
mkdir -p "$bundle"
cp build/release/tilejit build/release/bench_* build/release/examples_* build/release/tests/gpu_* build/release/tests/stress_* "$bundle"
cp -L build/release/libtilejit.so.0 build/release/libtilejit_blas.so build/release/libcuda_emulator.so build/release/libtilejit_fleet.so "$bundle" # a GPU's results are compared with the emulator's
cp build/release/textbook.tjpack "$bundle"
cp -r trials "$bundle"
ldd "$bundle/tilejit" "$bundle/libtilejit_fleet.so" | awk '/libhiredis|libsodium/ { print $3 }' | sort -u | xargs -I{} cp -L {} "$bundle"
cp tests/gpu/*.py tests/gpu/run_all.sh scripts/prove_my_gpu.sh scripts/device_report.py "$bundle"
# The Python package, for any Python from 3.9 on, with the cffi of each. The textbook's kernels are there already.
private_python pip:pip
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
pip() { "$python" -m pip "$@" --quiet --disable-pip-version-check --no-deps; }
pip wheel -C cmake.define.TILEJIT_BUILD_TEXTBOOK=OFF -w "$wheels" bindings/python
for minor in 9 10 11 12 13 14; do
    pip download --only-binary=:all: --python-version 3.$minor -d "$wheels" cffi || echo "no cffi for Python 3.$minor"
done
for wheel in "$wheels"/*.whl; do "$python" -m zipfile -e "$wheel" "$bundle/python"; done
cp -r bindings/python/examples "$bundle/python"
cp -r bench/shapes bench/tables.py bench/programs.py bench/programs "$bundle"
scripts/check_runpath.sh "$bundle"
echo "bundled: $(du -sh "$bundle" | cut -f1) in $bundle"
