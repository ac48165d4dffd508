#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Check the rules between files that include folders cannot enforce, and that every public header compiles alone, as C and as C++.
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
forbid "$(find base problem generator analysis reference src tuner emulator cli include -name '*.[ch]')" 'hiredis|sodium'
forbid "$(find base problem generator analysis reference src tuner cli fleet bench examples -name '*.[ch]')" 'jansson'
forbid "$(find base problem generator analysis reference src tuner emulator cli fleet -name '*.[ch]')" '(cuda|nvrtc|cuda_runtime[a-z_]*)\.h>'

# The command's output goes through cli_print, which cleans it; files that it writes, and constant strings, do not.
hits=$(find cli -name '*.c' | grep -vE '/(answer|help|completion|report|page[a-z_]*)\.c$' |
    xargs grep -nE '(^|[^a-z_])v?(printf|puts)\(|fprintf\((std|out)|fputs\([^",]*, *std' | grep -v 'generate.c.*fputs(text, stdout)' || true)
[ -z "$hits" ] || complain "printed without cli_print:"$'\n'"$hits"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for header in include/tilejit/*.h; do
    echo "#include <tilejit/$(basename "$header")>
int main(void) { return 0; }" >"$folder/one.c"
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iemulator/include -fsyntax-only "$folder/one.c" || complain "$header does not compile alone as C17"
    c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iemulator/include -fsyntax-only "$folder/one.c" || complain "$header does not compile alone as C++17"
done
[ $status -eq 0 ] && echo "check_layers: no complaint"
exit $status
