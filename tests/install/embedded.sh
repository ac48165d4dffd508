#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change
# embedded.sh BUILD_FOLDER: install that build, and link its static library into others: into the plug-ins of examples/plugin, which must
# export nothing of it and need no further library, and are opened twice at once, closed, opened again and forked; and into a program that
# PATH starts by a bare name, which must find the files next to it.
set -euo pipefail
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "embedded: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >/dev/null
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
{ cmake -G "$generator" -S "$source/examples/plugin" -B "$work/plugin" -DCMAKE_PREFIX_PATH="$work/prefix" &&
    cmake --build "$work/plugin"; } >"$work/log" 2>&1 || fail "examples/plugin is not built: $(tail -n 20 "$work/log")"

exported=$(nm -D --defined-only "$work/plugin/libgemm_a.so" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$exported" = "gemm_close gemm_multiply gemm_open " ] || fail "the plug-in exports $exported"
needed=$(readelf -d "$work/plugin/libgemm_a.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
strange=$(grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so' <<<"$needed" || true)
[ -z "$strange" ] || fail "the plug-in needs $strange"

# The bytes by which a program grows; docs/instead-of-nvcc.md has those of a release.
most=2000000
strip -o "$work/stripped" "$work/plugin/libgemm_a.so"
bytes=$(stat -c %s "$work/stripped")
[ "$bytes" -le $most ] || fail "the plug-in has $bytes bytes, and the budget is $most: is all that is new needed in every program?"

nvrtc=$( ("$build/tilejit" doctor || true) | sed -n 's/^OK *nvrtc .* at //p')
if [ -z "$nvrtc" ]; then
    [ -z "${TILEJIT_REQUIRE_NVRTC:-}" ] || fail "there is no NVRTC"
    echo "SKIPPED, not tested: whether they multiply, because there is no NVRTC"
    exit 0
fi
# The emulator lies next to them: no variable may say where.
export TILEJIT_EMULATOR=/nonexistent CUDA_EMULATOR_LOG=0
emulator=$(find "$work/prefix" -name libcuda_emulator.so)
ln -s "$emulator" "$work/plugin"
"$work/plugin/host" "$work/plugin/libgemm_a.so" "$work/plugin/libgemm_b.so" emulator "$nvrtc" || fail "the plug-ins do not work"

unset TILEJIT_EMULATOR
mkdir "$work/bin"
ln -s "$emulator" "$work/bin"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tilejit.pc)")
export PKG_CONFIG_PATH
folder=$(pkg-config --variable=libdir tilejit)
cc "$source/examples/01_matmul.c" -o "$work/bin/matmul_by_name" $(pkg-config --cflags tilejit) "$folder/libtilejit.a" \
    $(pkg-config --static --libs tilejit | sed 's/-ltilejit//')
[ -z "$(nm -D --defined-only "$work/bin/matmul_by_name" | grep ' tj_' || true)" ] || fail "the program exports functions of TileJIT"
(cd / && PATH=$work/bin:$PATH TILEJIT_DRIVER=emulator TILEJIT_CACHE_DIR=off matmul_by_name) || fail "the program does not find the emulator next to it"
echo "embedded: plug-ins with TileJIT inside export nothing of it, and work next to each other; a program finds what lies next to it"
