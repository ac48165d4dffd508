#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Check that tiers.cmake reads what a test's file says of its tier, and that a wrong or missing word is an error with the file's name.
set -euo pipefail
tiers=$(cd "$(dirname "$0")" && pwd)/tiers.cmake
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect WANT LINES [OPTION ...]   configures a project with one file of these lines; WANT is a part of what CMake says, its words one space apart.
expect() {
    local said
    printf '%b\n' "/* SPDX */\n$2" >"$work/test.c"
    rm -rf "$work/build"
    said=$(cmake -G Ninja -S "$work" -B "$work/build" "${@:3}" 2>&1 | tr -s ' \n' '  ') || true
    [[ $said == *"$1"* ]] || { printf 'check_tiers: "%s" with %s does not say "%s":\n%s\n' "$2" "${*:3}" "$1" "$said" >&2; failed=1; }
}
cat >"$work/CMakeLists.txt" <<EOF2
cmake_minimum_required(VERSION 3.22)
project(tiers LANGUAGES NONE)
enable_testing()
include($tiers)
tj_read_tests(\${CMAKE_SOURCE_DIR}/test.c here)
foreach(test IN LISTS tests)
    tj_add_test(\${test} TIMEOUT 7 COMMAND run LABELS unit ENVIRONMENT A=1)
    get_test_property(\${test} LABELS labels)
    get_test_property(\${test} TIMEOUT timeout)
    get_test_property(\${test} ENVIRONMENT env)
    message(STATUS "[\${test}: \${\${test}_arguments}: \${labels}: \${timeout}: \${env}]")
endforeach()
message(STATUS "tests: \${tests}.")
EOF2

expect '[here: : unit;quick: 7: TILEJIT_TRIALS=off;A=1]' '/* tier: quick */'
expect '[there: 1;x y: unit;slow;change: 9: TILEJIT_TRIALS=off;A=1;B=2 3;C=4]' '/* tier: change; run: there 1 "x y"; labels: slow; env: B=2 3, C=4; timeout: 9; cost: 5 */'
expect 'tests: one;two.' '/* tier: change; run: one */\n/* tier: quick; run: two */'
expect 'tests: one.' '/* tier: quick; run: one */\n/* tier: change; run: two */' -DTILEJIT_TIER=quick
expect 'tests: .' '/* tier: nightly */'
expect '[here: : unit;nightly: 42: TILEJIT_TRIALS=off;A=1]' '/* tier: nightly */' -DTILEJIT_TIER=nightly
expect 'tests: .' '/* tier: quick; sanitizers: nightly (why) */' -DTILEJIT_SANITIZE=address
expect 'unit;nightly:' '/* tier: quick; sanitizers: nightly (why) */' -DTILEJIT_SANITIZE=address -DTILEJIT_TIER=nightly
expect 'tests: .' '/* tier: quick; sanitizers: never (why) */' -DTILEJIT_SANITIZE=address -DTILEJIT_TIER=nightly
expect 'tests: two.' '/* tier: quick; sanitizers: never (why); run: one */\n/* tier: quick; sanitizers: only; run: two */' -DTILEJIT_SANITIZE=address
expect 'tests: one.' '/* tier: quick; sanitizers: never (why); run: one */\n/* tier: quick; sanitizers: only; run: two */'

expect 'test.c does not say its tier' '/* a test */'
expect 'test.c: the tier is "daily"' '/* tier: daily */'
expect 'test.c: "sanitisers: never" is not a field' '/* tier: quick; sanitisers: never */'
expect 'test.c: sanitizers is "never"' '/* tier: quick; sanitizers: never */'
expect 'TILEJIT_TIER is "daily"' '/* tier: quick */' -DTILEJIT_TIER=daily
[ $failed -eq 0 ] && echo "check_tiers: tiers are read as they are written"
