#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_release.sh: products of a release build, on the emulator: of each family, and of each kind of type, scale and row. The tests run what
# is built for debugging, in which a read through a NULL pointer may have no effect.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release >/dev/null
cmake --build --preset release --target tilejit_cli cuda_emulator >/dev/null
count=0
while read -r shape options; do
    # shellcheck disable=SC2086 # options are words
    said=$(build/release/tilejit run "$shape" $options --device emulator:sm_90 2>&1) && grep -q '^check *passed' <<<"$said" || {
        echo "check_release: tilejit run $shape $options" >&2
        echo "$said" >&2
        exit 1
    }
    count=$((count + 1))
done <<'products'
33x20x47
33x20x47 --config naive --dtype f64 --layout-p col
64x48x40 --config simt --alpha 2 --beta 1
5x300x130 --config skinny --dtype bf16 --n-dtype s8
200x40x9 --config strip
16x16x16 --config small_batch --batch 9
64x96x72 --config planes --compute f32_split
64x96x72 --config wgmma_planes --compute f32_split
40x72x48 --config mma --dtype f16 --epilogue gelu(acc+bias[col])
40x96x48 --config mma:pack=both --dtype s8
72x96x48 --config wgmma:bm=64,bn=32 --dtype bf16
40x256x64 --config wgmma:bm=64,bn=64 --format fp8_block
24x256x64 --config wgmma:swap=yes,bm=64,bn=24 --format mxfp4 --dtype bf16
16x256x64 --config mma:bm=16,bn=64,wm=16,wn=16,steps=4 --format w4g32z --dtype f16
24x256x64 --config wgmma:swap=yes,bm=64,bn=24 --dtype e4m3 --n-dtype s4 --transpose-n --compute f32_fp8
40x64x256 --config mma --dtype bf16 --p-dtype e4m3 --scale-p f32:1x128:row-by-row
40x64x96 --config tiled --dtype bf16 --p-dtype s8 --scale-p e8m0:1x32
48x64x32 --config wgmma:bm=64,bn=32 --dtype bf16 --groups 3
48x64x32 --config mma --dtype bf16 --groups 3 --grouped masked
48x64x32 --config tiled --gather --scatter
products
echo "check_release: $count products are right"
