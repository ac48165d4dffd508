#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_reproducible.sh [BUILD_TYPE [CMAKE_OPTION...]]: the sources, built for release in two places and installed into two prefixes, give
# the same bytes, file by file.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for place in here somewhere/further/away; do
    copy_sources "$work/$place/source"
    build=$work/$place/source/build/release
    [ $place = here ] || build=$work/$place/b # within the sources, and next to them
    cmake -G Ninja -S "$work/$place/source" -B "$build" -DCMAKE_BUILD_TYPE="${1:-Release}" -DTILEJIT_BUILD_TESTS=OFF -DTILEJIT_BUILD_GPU_TESTS=ON "${@:2}" >/dev/null
    installed=(tilejit tilejit_static tilejit_blas tilejit_installed cuda_emulator tilejit_texts)
    ! grep -q '^build tilejit_fleet:' "$build/build.ninja" || installed+=(tilejit_fleet)
    CCACHE_DISABLE=1 cmake --build "$build" --target "${installed[@]}" >/dev/null
    cmake --install "$build" --prefix "$work/$place/prefix" >/dev/null
done
diff -r "$work/here/prefix" "$work/somewhere/further/away/prefix" || { echo "check_reproducible: the two builds differ" >&2; exit 1; }
! grep -rlF "$work" "$work/here/prefix" || { echo "check_reproducible: these name the folder that they were built in" >&2; exit 1; }
echo "check_reproducible: $(find "$work/here/prefix" -type f | wc -l) files are the same from two places"
