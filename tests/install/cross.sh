#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cross.sh: TileJIT for aarch64 by Debian's cross compiler and Debian's package of xxHash for it, which is unpacked into a
# sysroot: nothing is installed, and the machine's list of architectures stays as it is. Nothing of the target is run here.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/scripts/common.sh"
need_packages aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross dpkg-deb:dpkg
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "cross: $*" >&2; exit 1; }

# An apt of our own, which knows the packages of arm64. apt fetches as a user that may not write here, or else says so.
mkdir -p "$work"/apt/{lists,cache,packages} "$work/sysroot"
touch "$work/apt/status"
apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$work/apt/lists" -o Dir::State::status="$work/apt/status"
     -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" update
(cd "$work/apt/packages" && apt-get "${apt[@]}" download libxxhash-dev)
for package in "$work"/apt/packages/*.deb; do dpkg-deb -x "$package" "$work/sysroot"; done

cat >"$work/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $work/sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
END
# build NAME OPTION ...
build() {
    { cmake -G Ninja -S "$source" -B "$work/$1" -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
        -DTILEJIT_BUILD_TESTS=OFF -DTILEJIT_BUILD_GPU_TESTS=OFF "${@:2}" && cmake --build "$work/$1" &&
        cmake --install "$work/$1" --prefix "$work/$1.prefix"; } >"$work/log" 2>&1 || fail "$1 is not built: $(tail -n 30 "$work/log")"
}

build first
prefix=$work/first.prefix
for file in bin/tilejit lib/libtilejit.so lib/tilejit/libcuda_emulator.so; do
    readelf -h "$prefix/$file" | grep -q AArch64 || fail "$file is not for aarch64"
done
"$source/scripts/check_runpath.sh" "$prefix"
grep -q '^\.TH' "$prefix/share/man/man1/tilejit.1" || fail "no man page"
PATH=$work/first/host:$PATH "$source/tests/install/completions.sh" "$prefix/share"

# With a command of this machine at hand none is built, and the texts are the same.
build second -DTILEJIT_HOST_COMMAND="$work/first/host/tilejit"
[ ! -e "$work/second/host" ] || fail "a command for this machine was built although one was named"
diff -r "$prefix" "$work/second.prefix" || fail "two builds of the same sources differ"
echo "cross: library, command and emulator for aarch64, with man page and completions"
