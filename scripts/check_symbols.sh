#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# check_symbols.sh LIBRARY: it exports the functions of the public headers, with the versions of src/libtilejit.map, and nothing else, and
# it imports nothing from libcuda or libnvrtc.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "check_symbols: $*" >&2; exit 1; }
same() { # WORDS LEFT RIGHT
    local differences
    differences=$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | grep '^[<>]' || true)
    [ -z "$differences" ] || fail "$1:"$'\n'"$differences"
}

# declared NODE HEADER...: the functions of headers.
declared() { cat "${@:2}" | tr '\n' ' ' | grep -oE 'TJ_API [^;(]*tj_[a-z0-9_]+\(' | grep -oE 'tj_[a-z0-9_]+\($' | sed "s/($/ $1/"; }
included() { sed -nE 's!^#include <(tilejit/[a-z_]+[.]h)>!include/\1!p' "include/tilejit/$1"; }
headers=$({ declared TILEJIT $(included tilejit.h); declared TILEJIT_TOOLS $(included tools.h | grep -v /tilejit.h); } | sort)
map=$(awk '/^TILEJIT/ { node = $1 } /^ +tj_/ { sub(";", ""); print $1, node }' src/libtilejit.map | sort)
same "src/libtilejit.map (>) and the headers that declare them (<)" "$headers" "$(sed -E 's/_[0-9.]+$//' <<<"$map")"
exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { sub("@@", " ", $NF); print $NF }' | sort)
same "exported (>) and in src/libtilejit.map (<)" "$map" "$exported"
readelf -d "$1" | grep -q "SONAME.*\[libtilejit[.]so[.]0\]" || fail "the SONAME is not libtilejit.so.0"
linked=$(nm -D --undefined-only "$1" | awk '{ print $NF }' | grep -E '^(cu[A-Z]|nvrtc)' || true)
[ -z "$linked" ] || fail "linked against CUDA: $linked"
echo "check_symbols: $(wc -l <<<"$map") tj_ symbols and no other"
