#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh BUILD_FOLDER: install that build into a fresh prefix, and use it as a stranger would: by find_package, by pkg-config, as a
# static library, and as the command with its man page.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >/dev/null
fail() { echo "install: $*" >&2; exit 1; }

cmake -G Ninja -S "$here" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/consumer" >/dev/null
"$work/consumer/consumer" || fail "the find_package consumer failed"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tilejit.pc)")
export PKG_CONFIG_PATH
define="--define-variable=prefix=$prefix"
library=$(pkg-config "$define" --variable=libdir tilejit)
cc "$here/main.c" -o "$work/shared" $(pkg-config "$define" --cflags --libs tilejit) -Wl,-rpath,"$library"
"$work/shared" || fail "the pkg-config consumer failed"
cc "$here/main.c" -o "$work/static" $(pkg-config "$define" --cflags tilejit) "$library/libtilejit.a" \
    $(pkg-config "$define" --static --libs-only-l tilejit | sed 's/-ltilejit//')
"$work/static" || fail "the static consumer failed"

"$prefix/bin/tilejit" --version >/dev/null || fail "the installed command does not start"
grep -q '^\.TH' "$prefix"/share/man/man1/tilejit.1 || fail "no man page"
echo "install: find_package, pkg-config, static library, command and man page work"
