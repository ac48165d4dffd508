#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Check the rules between files that include folders cannot enforce, that every public header compiles alone, as C and as C++, and that
# tilejit.hpp has all of tilejit.h that can fail or frees.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
complain() { echo "check_layers: $*" >&2; status=1; }

# forbid FILES PATTERN   no file may include a header that matches.
forbid() {
    local hits
    hits=$(grep -nE "^#include [\"<]($2)" $1 || true)
    [ -z "$hits" ] || complain "forbidden include:"$'\n'"$hits"
}
forbid "$(find emulator -name '*.[ch]')" 'tilejit|xxhash|jansson'
forbid "$(find base problem generator analysis reference src tuner emulator blas cli include -name '*.[ch]')" 'hiredis|sodium'
forbid "$(find base problem generator analysis reference src tuner blas cli fleet bench examples -name '*.[ch]')" 'jansson'
forbid "$(find base problem generator analysis reference src tuner emulator blas cli fleet -name '*.[ch]')" '(cuda|nvrtc|cuda_runtime[a-z_]*|cublas[A-Za-z_0-9]*)\.h>'

# The command's output goes through cli_print, which cleans it; files that it writes, and constant strings, do not.
hits=$(find cli -name '*.c' | grep -vE '/(answer|help|completion|report|page[a-z_]*)\.c$' |
    xargs grep -nE '(^|[^a-z_])v?(printf|puts)\(|fprintf\((std|out)|fputs\([^",]*, *std' | grep -v 'generate.c.*fputs(text, stdout)' || true)
[ -z "$hits" ] || complain "printed without cli_print:"$'\n'"$hits"

# A problem is checked and made canonical once, where it comes in: in problem/, in a public function, or in one of these.
doors='src/session/plan_table.c:tj_plan_ask src/session/matmul.c:refuse src/session/matmul.c:multiply_generally
src/session/stand_in.c:tj_plan_improve src/runtime/workbench.c:settle tuner/record.c:problem_from_json tuner/t4.c:add_fastest
tuner/trials.c:read_problem'
# callers PATTERN   the functions that call one that matches, as FILE:FUNCTION; a definition begins in the first column.
callers() {
    find generator analysis reference src tuner -name '*.c' | sort | xargs awk -v called="(^|[^a-z_])($1)\\(" '
        FNR == 1 { name = "" }
        /^[a-z_].*\(/ && !/;$/ { line = $0; gsub(/__attribute__\(\([^)]*\)\) /, "", line); sub(/\(.*/, "", line)
                                 sub(/.*[ *]/, "", line); name = line; next }
        $0 ~ called { print FILENAME ":" name }' | sort -u
}
for caller in $(callers 'tj_request_make|tj_problem_check|tj_problem_canonical|tj_config_resolve'); do
    grep -qE "(^|[^a-z_])${caller#*:}\(" include/tilejit/*.h || grep -qw "$caller" <<<"$doors" ||
        complain "$caller checks a problem or makes it canonical again: take a tj_request (problem/request.h)"
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for header in include/tilejit/*.h; do
    echo "#include <tilejit/$(basename "$header")>
int main(void) { return 0; }" >"$folder/one.c"
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iemulator/include -fsyntax-only "$folder/one.c" || complain "$header does not compile alone as C17"
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iemulator/include -fsyntax-only "$folder/one.c" || complain "$header does not compile alone as C++17"
done

# The header of C++: alone, as each standard, by each compiler that is here; 2b is what older compilers call 23.
for compiler in c++ $(command -v clang++); do
    for standard in 17 20 2b; do
        echo '#include <tilejit/tilejit.hpp>' >"$folder/one.cpp"
        $compiler -std=c++$standard -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude -fsyntax-only "$folder/one.cpp" ||
            complain "tilejit.hpp does not compile alone as C++$standard by $compiler"
    done
done
# A function that returns a status, or frees what the library made, needs a wrapper: others are called as they are.
for header in $(sed -n 's/^#include <\(tilejit\/.*\)>/include\/\1/p' include/tilejit/tilejit.h); do
    for name in $(grep -oE 'TJ_MUST_CHECK tj_status tj_[a-z_0-9]+|void tj_[a-z_]+_(free|destroy|release)\(' "$header" | grep -oE 'tj_[a-z_0-9]+' | grep -v '^tj_status$'); do
        grep -qE "[( <]$name[,)>(]" include/tilejit/tilejit.hpp || complain "tilejit.hpp lacks $name of $header"
    done
done
[ $status -eq 0 ] && echo "check_layers: no complaint"
exit $status
