#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change
# check.sh BUILD_FOLDER: install that build into a fresh prefix, and use it as a stranger would: by find_package and by pkg-config, shared
# and static, and as the command with its man page; then move the prefix, and use it again.
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
scripts=$here/../../scripts
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install: $*" >&2; exit 1; }

# configure PREFIX LIBRARY OPTION...
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
configure() { cmake -G "$generator" -S "$here" -B "$1.$2" -DCMAKE_PREFIX_PATH="$1" -DLIBRARY="$2" "${@:3}"; }

use() {
    local prefix=$1 library folder
    for library in tilejit tilejit_static; do
        configure "$prefix" $library >/dev/null
        cmake --build "$prefix.$library" >/dev/null
        "$prefix.$library/consumer" || fail "the find_package consumer of $library failed"
        "$prefix.$library/consumer_cpp" >/dev/null || fail "the find_package consumer of $library in C++ failed"
    done
    readelf -d "$prefix.tilejit_static/consumer" | grep -q libtilejit && fail "the static consumer needs libtilejit.so"

    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tilejit.pc)")
    export PKG_CONFIG_PATH
    [ "$(realpath "$(pkg-config --variable=prefix tilejit)")" = "$prefix" ] || fail "pkg-config names another prefix"
    folder=$(pkg-config --variable=libdir tilejit)
    cc "$here/main.c" -o "$prefix.shared" $(pkg-config --cflags --libs tilejit) -Wl,-rpath,"$folder"
    "$prefix.shared" || fail "the pkg-config consumer failed"
    cc "$here/main.c" -o "$prefix.static" $(pkg-config --cflags tilejit) "$folder/libtilejit.a" \
        $(pkg-config --static --libs-only-l tilejit | sed 's/-ltilejit//')
    "$prefix.static" || fail "the static pkg-config consumer failed"
    "$prefix/bin/tilejit" --version >/dev/null || fail "the installed command does not start"
    (env -u TILEJIT_TRIALS "$prefix/bin/tilejit" doctor || true) | grep -q "^OK *trials .*measured on NVIDIA H200" ||
        fail "the trials that ship are not found"
}

cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$scripts/check_runpath.sh" "$work/prefix"
use "$work/prefix"
mkdir "$work/page"
cp "$here/main.c" "$work/page"
{ printf 'cmake_minimum_required(VERSION 3.22)\nproject(page LANGUAGES C)\n' &&
    awk '/^```cmake/ { inside = ++number == 1; next } /^```/ { inside = 0 } inside' "$here/../../docs/embedding.md"; } >"$work/page/CMakeLists.txt"
cmake -G "$generator" -S "$work/page" -B "$work/page/build" -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null && cmake --build "$work/page/build" >/dev/null &&
    "$work/page/build/application" || fail "the first project of docs/embedding.md does not work"
grep -rIE "$work|$build|/usr/local" "$work/prefix"/lib* && fail "an installed file names a folder of this machine"
mv "$work/prefix" "$work/moved"
use "$work/moved"
prefix=$work/moved

# A program that embeds the library needs no further shared object.
needed=$(find "$prefix" -name libtilejit.so -exec readelf -d {} + | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
strange=$(grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*|lib[a-z]*san)\.so' <<<"$needed" || true)
[ -z "$strange" ] || fail "libtilejit.so needs $strange"

# The current folder is not a place for libraries: neither the built nor the installed command loads what lies there.
mkdir "$work/planted"
for name in $(readelf -d "$build/tilejit" "$build/libtilejit.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    echo "not a library" >"$work/planted/$name"
done
for command in "$build/tilejit" "$prefix/bin/tilejit"; do
    (cd "$work/planted" && "$command" --version >/dev/null) || fail "$command loads libraries from the current folder"
done

# Beside the programs: the licence, the documents, which point to one another, the man page, the completions.
documents=$prefix/share/doc/tilejit
grep -q "Apache License" "$documents/LICENSE" || fail "no licence"
for page in "$documents"/docs/*.md "$documents"/docs/*/*.md; do
    for link in $(awk '/^ *```/ { fenced = !fenced } !fenced' "$page" | grep -oE '\]\([^)#:]+[)#]' | sed 's/^](//; s/.$//'); do
        [ -e "$(dirname "$page")/$link" ] || [[ $link == ../* ]] || fail "$(basename "$page") points to $link, which is not installed"
    done
done
[ -e "$documents/docs/commands.md" ] || fail "no documents"
grep -q '^\.TH' "$prefix/share/man/man1/tilejit.1" || fail "no man page"
if [[ $(man -w 2>/dev/null) == /* ]]; then # man is here, and no stand-in for it; it finds pages by PATH
    for pair in "$build=$build/man" "$prefix/bin=$prefix/share/man"; do
        page=$(unset MANPATH && PATH=${pair%%=*}:$PATH man -w tilejit) || fail "man finds no page for the command in ${pair%%=*}"
        [ "$page" = "${pair#*=}/man1/tilejit.1" ] || fail "man takes $page for the command in ${pair%%=*}"
    done
fi
PATH=$prefix/bin:$PATH "$here/completions.sh" "$prefix/share"
echo "install: find_package, pkg-config, static library, command, man page, documents and completions work, moved as well"
