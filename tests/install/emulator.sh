#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change; timeout: 900; cost: 60
# emulator.sh SOURCE: the emulator builds and passes its tests from its folder alone.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1/emulator" "$work/emulator"
cd "$work/emulator"
# At -O3 it takes three minutes of a processor, and the comparisons with a GPU, which the project runs anyhow, take one at any level.
cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O1 >/dev/null
cmake --build build -j "$(nproc)" >build.log 2>&1 || { cat build.log; exit 1; }
ctest --test-dir build -j "$(nproc)" -E '^(vectors|mma|wgmma)$' --output-on-failure
