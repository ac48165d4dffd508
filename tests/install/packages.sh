#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh: the .tar.gz and the .deb of two places are the same bytes; what they hold is unpacked and used.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
cd "$source"
. scripts/common.sh
need_packages dpkg-shlibdeps:dpkg-dev dpkg-deb:dpkg
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "packages: $*" >&2; exit 1; }
export SOURCE_DATE_EPOCH=1700000000

for place in here somewhere/further/away; do
    copy_sources "$work/$place/source"
    { cmake -G Ninja -S "$work/$place/source" -B "$work/$place/build" -DCMAKE_BUILD_TYPE=Release -DTILEJIT_BUILD_TESTS=OFF -DTILEJIT_BUILD_GPU_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr && cmake --build "$work/$place/build" && cd "$work/$place/build" && cpack; } >"$work/log" 2>&1 ||
        fail "no packages: $(tail -n 30 "$work/log")"
    cd "$source"
done
for package in "$work"/here/build/*.{deb,tar.gz}; do
    cmp "$package" "$work/somewhere/further/away/build/$(basename "$package")" || fail "$(basename "$package") depends on where it is made"
    ! { dpkg-deb -I "$package" 2>/dev/null || true; } | grep -F "$work" || fail "$package names the folder of its build"
done

deb=$(echo "$work"/here/build/*.deb)
dpkg-deb -f "$deb" Depends | grep -q libc6 || fail "the .deb does not say that it needs libc6: $(dpkg-deb -f "$deb")"
dpkg-deb -x "$deb" "$work/debian"
mkdir "$work/unpacked"
tar -C "$work/unpacked" --strip-components=1 -xf "$work"/here/build/*.tar.gz
for prefix in "$work/debian/usr" "$work/unpacked"; do
    need_nvrtc "$prefix/bin/tilejit"
    "$prefix/bin/tilejit" run 16x16x16 --device emulator --no-cache >/dev/null || fail "the command of $prefix does not multiply"
    for file in include/tilejit/tilejit.h share/man/man1/tilejit.1 share/doc/tilejit/LICENSE share/bash-completion/completions/tilejit; do
        [ -s "$prefix/$file" ] || fail "$prefix has no $file"
    done
    cmake -G Ninja -S tests/install -B "$prefix.consumer" -DCMAKE_PREFIX_PATH="$prefix" -DLIBRARY=tilejit >/dev/null
    cmake --build "$prefix.consumer" >/dev/null
    "$prefix.consumer/consumer" || fail "what find_package finds in $prefix does not work"
done
echo "packages: .deb and .tar.gz, the same bytes from two places, unpacked and used"
