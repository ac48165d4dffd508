#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change; cost: 50
# pages.sh BUILD_FOLDER [PAGE...]: do what the pages tell a reader to do, with an installed copy of that build: build the whole programs of a
# page, run its blocks of shell one after the other in one shell, and build the project that it shows. scripts/check_blocks.sh says what the
# marks of blocks mean:
#
#     sh          on the emulator
#     sh gpu      on the GPU that pretends (tests/fake/fake_gpu.c)
#     sh fleet    on that GPU, with a redis-server, if there is one and the fleet's component was built
#
# tests/install/cheap.sh stands in for the commands that would take long: it makes shapes smaller and tunings short.
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(realpath "$here/../..")
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt") # CMake's own default may not be here
export CMAKE_GENERATOR
work=$(mktemp -d)
stop() { [ ! -e "$work/redis.pid" ] || kill "$(cat "$work/redis.pid")" 2>/dev/null || true; rm -rf "$work"; }
trap stop EXIT
fail() { echo "pages: $*" >&2; exit 1; }

prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
library=$(dirname "$(find "$prefix" -name 'libtilejit.so')")
export XDG_DATA_HOME=${XDG_DATA_HOME:-$HOME/.local/share} # where an NVRTC may be
export HOME=$work/home XDG_CACHE_HOME=$work/cache TILEJIT_DRIVER=emulator TILEJIT_EMULATOR=$library/tilejit/libcuda_emulator.so
export PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$library PKG_CONFIG_PATH=$library/pkgconfig
unset TILEJIT_CACHE_DIR TILEJIT_PACKS TILEJIT_CAPTURE TILEJIT_REMOTE # as for a reader who has set none
mkdir "$HOME" "$work/bin"
if ! tilejit compile 8x8x8 --arch sm_90 -o "$work/kernel.ptx" >"$work/output" 2>&1; then
    [ -z "${TILEJIT_REQUIRE_NVRTC:-}" ] || fail "$(cat "$work/output")"
    echo "SKIPPED, not tested: $(cat "$work/output")"
    exit 0
fi
export CHEAP_TILEJIT=$prefix/bin/tilejit CHEAP_WORK=$work CHEAP_PORT=$((20000 + $$ % 20000))
CHEAP_REDIS=$(command -v redis-server || true)
export CHEAP_REDIS
for command in tilejit redis-server srun; do ln -s "$here/cheap.sh" "$work/bin/$command"; done
PATH=$work/bin:$PATH
has_fleet=$([ -e "$library/tilejit/libtilejit_fleet.so" ] && [ -n "$CHEAP_REDIS" ] && "$CHEAP_REDIS" --version | grep -qE 'v=([7-9]|[1-9][0-9])\.' && echo 1 || true)

# Small arrays for the pages that multiply files: npy SHAPE ELEMENTS.
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
    head -c $((4 * $2)) /dev/zero
}

# A page as a script: each block after the choice of its driver. Names of a network and of a system become those of this test.
script() {
    awk -v emulator=emulator -v gpu="$build/tests/libfake_gpu.so" -v fleet="$has_fleet" '
        /^ *```/ { inside = 0 }
        /^ *```sh( gpu| fleet)?$/ {
            block++
            inside = $2 != "fleet" || fleet
            if (inside) printf "block=%d\nexport TILEJIT_DRIVER=%s\n", block, $2 ? gpu : emulator
            else print "echo fleet >>\"$CHEAP_WORK/skipped\""
            next
        }
        inside { print }' "$1" |
        sed -e "s#@head?#@127.0.0.1:$CHEAP_PORT?#; s#/etc/tilejit#$2/etc#; s#/usr/local/lib/#$library/#"
}

# The files that a reader has who reads this page.
furnish() {
    mkdir -p "$1/etc" "$1/parts"
    [ ! -e "$work/app" ] || for name in app program your-program; do cp "$work/app" "$1/$name"; done
    printf '#!/bin/sh\npython3 -c "import ctypes; assert ctypes.CDLL('\''libcuda.so.1'\'').cuInit(0) == 0"\n' >"$1/a-program-of-the-driver-api"
    chmod +x "$1/a-program-of-the-driver-api"
    awk '/^```csv$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$2" >"$1/shapes.csv"
    [ -s "$1/shapes.csv" ] || echo 16x16x16 >"$1/shapes.csv"
    for name in records a b; do echo '{"tilejit_records": []}' >"$1/$name.json"; done
    npy '12, 30' 360 >"$1/M.npy"
    npy '30, 7' 210 >"$1/N.npy"
    npy '7,' 7 >"$1/bias.npy"
    npy '9, 1' 9 >"$1/column.npy"
    npy '1, 1' 1 >"$1/one.npy"
    ln -s "$root/fleet" "$1/fleet"
    awk -v to="$1/" '
        /^```c$/ { file = to "main.c" } /^```cpp$/ { file = to "main.cpp" } /^```cmake$/ { file = to "CMakeLists.txt" }
        /^```$/ { file = "" } !/^```/ && file { print >file }' "$2"
}

ran=0
cd "$root"
for page in ${2:+"${@:2}"} $([ $# -gt 1 ] || printf "%s\n" docs/getting-started.md docs/fleet.md README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/*/*.md bench/README.md bindings/python/README.md | awk '!seen[$0]++'); do
    grep -qE '^ *```(sh( gpu| fleet)?|cpp|cmake)$' "$page" || continue
    folder=$work/${page//\//-}
    mkdir "$folder"
    furnish "$folder" "$page"
    { printf 'set -euo pipefail\nend() { [ $? = 0 ] || echo "block $block of %s fails"; kill $(jobs -p) 2>/dev/null || true; }\ntrap end EXIT\n' "$page" &&
        script "$page" "$folder"; } >"$folder/page.sh"
    (cd "$folder" && SLURM_ARRAY_TASK_ID=0 SCRATCH=$folder bash "$folder/page.sh") >"$work/output" 2>&1 </dev/null ||
        fail "docs: $(cat "$work/output")"
    ran=$((ran + $(grep -c '^block=' "$folder/page.sh" || true)))
    [ "$page" != docs/getting-started.md ] || cp "$folder/main" "$work/app" # an application
    if [ -e "$folder/CMakeLists.txt" ]; then
        sed -i '1i cmake_minimum_required(VERSION 3.22)\nproject(page LANGUAGES C)' "$folder/CMakeLists.txt"
        { cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$folder/build"; } >"$work/output" 2>&1 ||
            fail "the project of $page fails: $(cat "$work/output")"
        ran=$((ran + 1))
    fi
done
skipped=0
[ ! -e "$work/skipped" ] || skipped=$(wc -l <"$work/skipped")
[ "$skipped" = 0 ] || [ -z "${TILEJIT_REQUIRE_REDIS:-}" ] || [ -n "$CHEAP_REDIS" ] || fail "there is no redis-server for $skipped blocks"
echo "pages: $ran blocks ran$([ "$skipped" = 0 ] || echo "; $skipped of a fleet did not, for want of redis-server or of the component")"
