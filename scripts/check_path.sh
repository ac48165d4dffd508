#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Check the PATH that scripts/common.sh makes for the tests of .ci/run: declared programs are found there and work, and others are not
# found, even if this machine has them.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh
fail() { echo "check_path: $*" >&2; exit 1; }
undeclared="make time"

if [ -n "${NARROW_PATH:-}" ]; then
    for tool in $undeclared; do
        ! type -P $tool >/dev/null || fail "$tool is found, and nothing declares it: these tests do not run with the PATH that NARROW_PATH asks for"
    done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
narrow_path "$work/path" || { echo "SKIPPED, not tested: no dpkg"; exit 0; }
for tool in sh awk cc c++ cmake ctest ninja pkg-config python3 redis-server; do
    type -P $tool >/dev/null || fail "$tool is not found, and is declared"
done
for tool in $undeclared; do
    ! type -P $tool >/dev/null || fail "$tool is found, and nothing declares it"
done
printf '#include <jansson.h>\nint main(void) { return json_decref(json_object()), 0; }\n' >"$work/main.c"
cc "$work/main.c" -o "$work/main" -ljansson && "$work/main" || fail "cc does not work"
printf 'cmake_minimum_required(VERSION 3.22)\nproject(one LANGUAGES C)\n' >"$work/CMakeLists.txt"
cmake -G Ninja -S "$work" -B "$work/build" >/dev/null || fail "cmake does not work"
python3 -c 'import json' || fail "python3 does not work"
echo "check_path: $(ls "$work/path" | wc -l) programs are found, and no other"
