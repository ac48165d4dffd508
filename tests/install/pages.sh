#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pages.sh BUILD_FOLDER: do what the pages tell a reader to do, with an installed copy of that build, on the emulator: build the whole
# programs of a page and run its blocks of shell in their order, and build the project that it shows. A block of "sh gpu" runs on the GPU
# that pretends, with one evaluation.
set -euo pipefail
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "pages: $*" >&2; exit 1; }

prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
library=$(dirname "$(find "$prefix" -name 'libtilejit.so')")
export XDG_DATA_HOME=${XDG_DATA_HOME:-$HOME/.local/share} # where an NVRTC may be
export HOME=$work/home XDG_CACHE_HOME=$work/cache TILEJIT_DRIVER=emulator
export PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$library PKG_CONFIG_PATH=$library/pkgconfig
unset TILEJIT_CACHE_DIR TILEJIT_PACKS TILEJIT_CAPTURE TILEJIT_REMOTE # as for a reader who has set none
mkdir "$HOME"
if ! tilejit compile 8x8x8 --arch sm_90 -o "$work/kernel.ptx" >"$work/output" 2>&1; then
    [ -z "${TILEJIT_REQUIRE_NVRTC:-}" ] || fail "$(cat "$work/output")"
    echo "SKIPPED, not tested: $(cat "$work/output")"
    exit 0
fi

# Small arrays for the pages that multiply files: npy SHAPE ELEMENTS.
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
    head -c $((4 * $2)) /dev/zero
}

ran=0
for page in getting-started epilogues packs build-time no-disk upgrades faq; do
    here=$work/$page
    mkdir "$here"
    [ "$page" = getting-started ] || cp "$work/getting-started/main" "$here/app" # an application
    awk '/^```csv$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/docs/$page.md" >"$here/shapes.csv"
    echo '{"tilejit_records": []}' >"$here/records.json"
    npy '12, 30' 360 >"$here/M.npy"
    npy '30, 7' 210 >"$here/N.npy"
    npy '7,' 7 >"$here/bias.npy"
    awk -v here="$here/" '
        /^```c$/ { file = here "main.c" } /^```cpp$/ { file = here "main.cpp" } /^```cmake$/ { file = here "CMakeLists.txt" }
        /^```sh$/ { file = sprintf("%sblock%02d.sh", here, ++blocks) } /^```sh gpu$/ { file = sprintf("%sblock%02d.gpu", here, ++blocks) }
        /^```$/ { file = "" } !/^```/ && file { print >file }' "$root/docs/$page.md"
    for block in "$here"/block*; do
        case $block in
        *.gpu) driver=$build/tests/libfake_gpu.so && sed -i 's/tilejit tune --shapes/tilejit tune --evaluations 1 --budget 2s --shapes/' "$block" ;;
        *) driver=$TILEJIT_DRIVER ;;
        esac
        (cd "$here" && TILEJIT_DRIVER=$driver bash -euo pipefail "$block") >"$work/output" 2>&1 ||
            fail "$(basename "$block") of docs/$page.md fails: $(cat "$block" "$work/output")"
        ran=$((ran + 1))
    done
    if [ -e "$here/CMakeLists.txt" ]; then
        sed -i '1i cmake_minimum_required(VERSION 3.22)\nproject(page LANGUAGES C)' "$here/CMakeLists.txt"
        { cmake -S "$here" -B "$here/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$here/build"; } >"$work/output" 2>&1 ||
            fail "the project of docs/$page.md fails: $(cat "$work/output")"
        ran=$((ran + 1))
    fi
done
echo "pages: $ran blocks ran"
