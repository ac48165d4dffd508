#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change
# check_abi.sh [--renew]: compare the binary interface that the public headers declare with the recorded one (docs/abi.md). With --renew,
# record it instead.
#
# A library of stubs is made of the headers: every TJ_API function with its real types, and the symbol versions of src/libtilejit.map. So
# the comparison needs no build, and no debug information of one; check_symbols.sh compares the map with the real library. libabigail
# reads the stubs. It does not see an enum that structures and calls take as int32_t, so a program of the headers prints the value of
# every enumerator, which must be that of tests/abi/enumerators.txt. After it has compared, the script must find a field that it puts in
# front of another, a function that it removes, and an enumerator that it puts in front of another.
set -euo pipefail
cd "$(dirname "$0")/.."
recorded=tests/abi/libtilejit.abi.gz
values=tests/abi/enumerators.txt
fail() { echo "check_abi: $*" >&2; exit 1; }
for tool in abidw abidiff cc; do
    command -v $tool >/dev/null || { echo "SKIPPED, not tested: there is no $tool here (abigail-tools, gcc)"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# stubs FOLDER EDIT...: make FOLDER/libtilejit.so of the headers, after sed has edited them.
stubs() {
    local folder=$1
    mkdir -p "$folder"
    cp -r include/tilejit emulator/include/cuda_emulator.h "$folder"
    [ $# -eq 1 ] || sed -i "${@:2}" "$folder"/tilejit/*.h
    sed -i 's/^#define TJ_API .*/#define TJ_API stub_of/' "$folder/tilejit/export.h"
    echo '#include <tilejit/tools.h>' | cc -E -I"$folder" - | grep -v '^#' | tr '\n' ' ' >"$folder/tools.i"
    sed -E 's/stub_of([^;]*);/__attribute__((visibility("default"))) \1 { __builtin_trap(); }\n/g' "$folder/tools.i" >"$folder/stubs.c"
    cc -g -O0 -w -fPIC -fvisibility=hidden -shared -Wl,-soname,libtilejit.so.0 -Wl,--version-script=src/libtilejit.map \
        -o "$folder/libtilejit.so" "$folder/stubs.c" || fail "the stubs of the public headers do not compile"
}

# enumerators FOLDER: print the name and the value of each enumerator that its headers declare, in their order.
enumerators() {
    { echo '#include <stdio.h>'; echo '#include <tilejit/tools.h>'; echo 'int main(void) {'
      grep -oE '\benum\b[^{};()]*\{[^}]*\}' "$1/tools.i" | sed -E 's/^[^{]*\{//; s/\}$//' | tr ',' '\n' |
          sed -nE 's/^ *(\w+).*/    printf("\1 %lld\\n", (long long)\1);/p'
      echo '}'; } >"$1/enumerators.c"
    cc -w -Dstub_of= -I"$1" -o "$1/enumerators" "$1/enumerators.c" || fail "the enumerators of the public headers do not compile"
    "$1/enumerators"
}

# compare FOLDER: print how its stubs differ from the record. Returns abidiff's bits: 4 for a difference, 8 for one that breaks programs.
compare() {
    local rc=0
    abidiff --no-show-locs "$work/recorded.abi" "$1/libtilejit.so" || rc=$?
    [ $((rc & 3)) -eq 0 ] || fail "abidiff ended with $rc"
    return $rc
}

stubs "$work/now"
if [ "${1:-}" = --renew ]; then
    mkdir -p "${recorded%/*}"
    abidw --no-show-locs --no-corpus-path --no-comp-dir-path "$work/now/libtilejit.so" | gzip -9n >"$recorded"
    enumerators "$work/now" >"$values"
    echo "check_abi: $recorded and $values are those of these headers"
    exit
fi
gzip -dc "$recorded" >"$work/recorded.abi"

if ! compare "$work/now" >"$work/differences"; then
    cat "$work/differences"
    fail "the headers declare another interface than $recorded. If docs/abi.md allows it: scripts/check_abi.sh --renew"
fi
enumerators "$work/now" >"$work/values"
diff "$values" "$work/values" ||
    fail "the headers declare other enumerators than $values. New ones come at the end (docs/abi.md): scripts/check_abi.sh --renew"
stubs "$work/moved" 's/^    tj_dim j, k, l;/    int64_t planted;\n    tj_dim j, k, l;/'
stubs "$work/gone" 's/^TJ_API const char \*tj_version(void);//'
for planted in moved:planted gone:tj_version; do
    ! compare "$work/${planted%:*}" >"$work/differences" && grep -q "${planted#*:}" "$work/differences" ||
        fail "a planted difference (${planted%:*}) was not found"
done
stubs "$work/renumbered" 's/^    TJ_OP_NOT,/    TJ_OP_PLANTED, TJ_OP_NOT,/'
! enumerators "$work/renumbered" | diff -q "$values" - >/dev/null || fail "a planted enumerator was not found"
echo "check_abi: $(gzip -dc "$recorded" | grep -c '<function-decl') functions and $(wc -l <"$values") enumerators as recorded, and three planted differences are found"
