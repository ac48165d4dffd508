#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change
# subproject.sh [build]: TileJIT within another project, by add_subdirectory and by FetchContent: what it brings, and that every name of it
# is its own. With "build" the projects are also built, installed and used, which compiles the library twice.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "subproject: $*" >&2; exit 1; }

# configure NAME OPTION ...
configure() {
    cmake -G Ninja -S "$here/subproject" -B "$work/$1" -DTILEJIT_SOURCE="$source" -DCMAKE_INSTALL_PREFIX="$work/$1.prefix" "${@:2}" \
        >"$work/log" 2>&1
}

# brings NAME: what TileJIT added to that project, all of it under its own names, and its tests never.
brings() {
    local foreign
    foreign=$(grep -vE '^(tj_|tilejit|cuda_emulator)' "$work/$1/brought.txt" | grep . || true)
    [ -z "$foreign" ] || fail "$1: these names are not ours to give: "$foreign
    grep -xE 'tilejit(_[a-z]*)?' "$work/$1/brought.txt" | LC_ALL=C sort | tr '\n' ' '
}

# expect NAME TARGETS OPTION ...
expect() {
    local brought
    configure "$1" "${@:3}" || fail "$1 is not configured: $(cat "$work/log")"
    brought=$(brings "$1")
    [ "$brought" = "$2" ] || fail "$1 brings $brought, not $2"
}

expect plain "tilejit tilejit_static " -DHOW=add_subdirectory
expect static "tilejit_static " -DHOW=add_subdirectory -DBUILD_SHARED_LIBS=OFF
expect exported "tilejit tilejit_cli tilejit_installed tilejit_texts " -DHOW=FetchContent -DBUILD_SHARED_LIBS=ON \
    -DTILEJIT_INSTALL=ON -DTILEJIT_BUILD_COMMAND=ON -DTILEJIT_BUILD_EMULATOR=ON
# The projects of docs/embedding.md, as a reader would copy them.
awk -v folder="$work" '/^```cmake/ { number++; inside = 1; next } /^```/ { inside = 0 } inside { print > (folder "/block" number) }' "$source/docs/embedding.md"
for number in 2 3; do
    mkdir -p "$work/page$number/extern"
    ln -s "$source" "$work/page$number/extern/tilejit"
    cp "$here/main.c" "$work/page$number"
    { printf 'cmake_minimum_required(VERSION 3.22)\nproject(page LANGUAGES C)\n' && cat "$work/block$number"; } >"$work/page$number/CMakeLists.txt"
    cmake -G Ninja -S "$work/page$number" -B "$work/page$number.build" -DFETCHCONTENT_SOURCE_DIR_TILEJIT="$source" >"$work/log" 2>&1 ||
        fail "the project number $number of docs/embedding.md is not configured: $(cat "$work/log")"
done
# The second of them again, as it is used: from an archive, without a word of CMake about whose times its files get.
mkdir "$work/tiny"
printf 'add_library(tilejit INTERFACE)\nadd_library(tilejit::tilejit ALIAS tilejit)\n' >"$work/tiny/CMakeLists.txt"
tar -C "$work" -cf "$work/tiny.tar" tiny
cmake -G Ninja -S "$work/page3" -B "$work/archive.build" -DTILEJIT_URL="$work/tiny.tar" \
    -DTILEJIT_SHA256="$(sha256sum "$work/tiny.tar" | cut -d ' ' -f 1)" >"$work/log" 2>&1 || fail "the archive is not used: $(cat "$work/log")"
! grep -q CMP0135 "$work/log" || fail "docs/embedding.md: $(cat "$work/log")"
configure tests -DHOW=add_subdirectory -DTILEJIT_BUILD_TESTS=ON && fail "tests of TileJIT within another project"
grep -q "need a build of TileJIT" "$work/log" || fail "nothing says that the tests need a build of TileJIT alone: $(cat "$work/log")"
[ "${1:-}" = build ] || { echo "subproject: add_subdirectory and FetchContent bring the library alone, under its own names"; exit 0; }

for name in static exported; do
    { cmake --build "$work/$name" && cmake --install "$work/$name"; } >"$work/log" || fail "$name is not built: $(tail -n 20 "$work/log")"
    "$work/$name.prefix/bin/application" || fail "the installed application of $name does not work"
done
[ "$(find "$work/static.prefix" -type f)" = "$work/static.prefix/bin/application" ] ||
    fail "the project that installs its application alone installs $(find "$work/static.prefix" -type f)"
"$work/exported.prefix/bin/tilejit" --version >/dev/null || fail "the command that the project installs does not start"

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(engine REQUIRED)
file(WRITE ${PROJECT_BINARY_DIR}/main.c "const char *engine(void);\nint main(void) { return engine()[0] == 0; }\n")
add_executable(user ${PROJECT_BINARY_DIR}/main.c)
target_link_libraries(user PRIVATE engine)
END
{ cmake -G Ninja -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/exported.prefix" && cmake --build "$work/user/build"; } \
    >"$work/log" 2>&1 || fail "the library that exports its need of TileJIT is not found: $(cat "$work/log")"
"$work/user/build/user" || fail "the user of that library does not work"
echo "subproject: projects with TileJIT inside, which export it or not, are built, installed and used"
