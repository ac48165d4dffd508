#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# Every block of code in the pages is compiled or run by a test, or says why it is not. The mark after the three backticks decides:
#
#     c                 compiled here, as C and as C++, after the declarations that a reader has by then; a whole program by tests/install/pages.sh
#     c inside          compiled here among the library's own sources, as a file, or as the body of a function of a family's form
#     c of FILE         (or cuda of FILE) compared here: the block stands in that file, except for its indentation
#     python            run by bindings/python/tests/test_documents.py
#     sh, cpp, cmake, csv; sh gpu, sh fleet      run and read by tests/install/pages.sh
#     console           a session: commands after "$", and what they say, run and compared by tests/cli/sessions.sh
#     ANYTHING by FILE  compiled or run by that script, or by that file of pytest
#     ANYTHING unrun: REASON    neither; counted and listed at the end
#     text              not code
#
# Any other mark, a missing mark and a command in an indented block are faults.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "check_blocks: $*" >&2; exit 1; }
pages=(README.md CONTRIBUTING.md SECURITY.md docs/*.md docs/*/*.md bench/README.md emulator/README.md bindings/python/README.md)

# ---- the blocks: a file for each, and a line "page:line mark"

awk -v folder="$folder" '
    FNR == 1 { inside = 0 }
    /^ *```/ && !inside { inside = 1; count++; mark = $0; sub(/^ *```/, "", mark)
        file = sprintf("%s/%03d", folder, count); printf "" >file; print count "\t" FILENAME ":" FNR "\t" mark; next }
    /^ *```/ { inside = 0; close(file); next }
    inside { print >file }' "${pages[@]}" >"$folder/list"
commands='(tilejit|pip|cmake|ctest|cpack|cc|python3?|man|sudo|export|for|srun|parallel|redis-server|bench_[a-z]+|examples_[0-9a-z_]+)( |$)|[.]/[a-z]|(build|scripts|bench|bindings)/[a-z]'
awk -v is="^     *([A-Z_]+=[^ ]* )*($commands)" '
    FNR == 1 { fenced = 0 } /^ *```/ { fenced = !fenced }
    !fenced && (blank || indented) && $0 ~ is { print "check_blocks: " FILENAME ":" FNR ": a command in an indented block, which no test runs: fence it (```sh)"; bad = 1 }
    { indented = /^    / && (blank || indented); blank = /^ *$/ }
    END { exit bad }' "${pages[@]}" >&2

# ---- C

compile() { # FILE WHERE COMPILER...
    "${@:3}" -Wall -Wno-unused -Werror=unused-result -S -o /dev/null "$1" || fail "the block at $2 does not compile as it stands behind ${*:3:1}"
}

names='tj_context_options options = TJ_CONTEXT_OPTIONS_INIT; tj_context *context = NULL; tj_error err; const tj_plan *plan = NULL;
tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32); tj_operands x = TJ_OPERANDS_INIT; void *workspace = NULL, *bias = NULL, *offsets = NULL, *scales = NULL, *counts = NULL; int *m_index = NULL, *p_index = NULL; float *p_factor = NULL;
(void)M, (void)N, (void)P, (void)stream, (void)options, (void)context, (void)err, (void)plan, (void)problem, (void)x, (void)workspace, (void)bias, (void)offsets, (void)scales, (void)counts, (void)m_index, (void)p_index, (void)p_factor;'
check_c() { # FILE WHERE
    {
        printf '#include <stdint.h>\n#include <stdio.h>\n#include <tilejit/tools.h>\n'
        grep '^#' "$1" || true
        printf 'int block(void *M, void *N, void *P, struct CUstream_st *stream);\n'
        printf 'int block(void *M, void *N, void *P, struct CUstream_st *stream)\n{\n%s\n{\n' "$names"
        grep -v '^#' "$1" || true
        printf '}\nreturn 0;\n}\n'
    } >"$folder/block.c"
    compile "$folder/block.c" "$2" cc -std=c17 -Iinclude -Iemulator/include
    compile "$folder/block.c" "$2" c++ -x c++ -std=c++17 -Iinclude -Iemulator/include
}

check_inside() { # FILE WHERE
    {
        printf '#include "parts/textbook.h"\n#include "parts/split.h"\n#include "steps.h"\n#include "canonical.h"\nenum { SPLITS };\n'
        grep -qE '^(#|enum|static|const)' "$1" || printf 'const char *block(const tj_problem *view, tj_template_params *fill, tj_launch_form *form, int64_t products);\n%s\n{\n%s\n' \
            'const char *block(const tj_problem *view, tj_template_params *fill, tj_launch_form *form, int64_t products)' 'tj_launch_step *finish;'
        cat "$1"
        grep -qE '^(#|enum|static|const)' "$1" || echo '}'
    } >"$folder/block.c"
    compile "$folder/block.c" "$2" cc -std=gnu17 -D_GNU_SOURCE -Iinclude -Ibase -Iproblem -Igenerator
}

check_quote() { # FILE WHERE SOURCE
    [ -f "$3" ] || fail "$2 quotes $3, which does not exist"
    case $(sed 's/^ *//' "$3") in *"$(sed 's/^ *//' "$1")"*) ;; *) fail "the block at $2 does not stand in $3 any more" ;; esac
}

# ---- each block in turn

compiled=0 quoted=0 elsewhere=0 others=0
while IFS=$'\t' read -r number where mark; do
    block=$folder/$(printf '%03d' "$number")
    case $mark in
    c)
        if grep -q '^int main(' "$block"; then others=$((others + 1)); else check_c "$block" "$where" && compiled=$((compiled + 1)); fi
        ;;
    "c inside") check_inside "$block" "$where" && compiled=$((compiled + 1)) ;;
    "c of "* | "cuda of "*) check_quote "$block" "$where" "${mark#* of }" && quoted=$((quoted + 1)) ;;
    python | console | sh | "sh gpu" | "sh fleet" | cpp | cmake | csv) others=$((others + 1)) ;;
    *" by "*)
        [ -x "${mark#* by }" ] || [[ ${mark#* by } == */test_*.py && -f ${mark#* by } ]] || fail "$where says that ${mark#* by } runs it, and that is no program"
        elsewhere=$((elsewhere + 1))
        ;;
    *" unrun: "?*) echo "$where: ${mark#* unrun: }" >>"$folder/unrun" ;;
    text) ;;
    *) fail "$where: a block of \"$mark\", which no test compiles or runs: scripts/check_blocks.sh lists the marks that there are" ;;
    esac
done <"$folder/list"
touch "$folder/unrun"
echo "check_blocks: $compiled blocks of C compile, $quoted are as in the sources, $others are run as pages, $elsewhere by other tests; $(wc -l <"$folder/unrun") run nowhere:"
sed 's/^/    /' "$folder/unrun"
