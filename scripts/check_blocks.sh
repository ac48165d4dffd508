#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C that pages show to users compiles, as C and as C++: every block of these pages, behind the names that a reader has by then. Whole
# programs and blocks of shell are run by tests/install/pages.sh, those of Python by bindings/python/tests.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

count=0
for page in README.md docs/build-time.md docs/embedding.md docs/epilogues.md docs/f32-split.md docs/first-call.md docs/grouped.md docs/no-disk.md docs/own-families.md docs/packs.md; do
    rm -f "$folder"/*
    awk -v folder="$folder" '/^```c$/ { number++; inside = 1; next } /^```/ { inside = 0 } inside { print > (folder "/" number) }' "$page"
    for block in "$folder"/*; do
        [ -e "$block" ] || { echo "check_blocks: $page shows no C any more" >&2; exit 1; }
        {
            printf '#include <stdint.h>\n#include <stdio.h>\n#include <tilejit/tilejit.h>\n'
            grep '^#' "$block" || true
            printf 'int block(void *M, void *N, void *P, struct CUstream_st *stream);\n'
            printf 'int block(void *M, void *N, void *P, struct CUstream_st *stream)\n{\n'
            printf 'tj_context_options options = TJ_CONTEXT_OPTIONS_INIT; tj_context *context = NULL; tj_error err; const tj_plan *plan = NULL;\n'
            printf 'tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32); tj_operands x = TJ_OPERANDS_INIT; void *workspace = NULL, *bias = NULL, *offsets = NULL;\n'
            printf '(void)M, (void)N, (void)P, (void)stream, (void)options, (void)context, (void)err, (void)plan, (void)problem, (void)x, (void)workspace, (void)bias, (void)offsets;\n'
            printf '{\n'
            grep -v '^#' "$block" || true
            printf '}\nreturn 0;\n}\n'
        } >"$folder/block.c"
        for compiler in "cc -std=c17" "c++ -x c++ -std=c++17"; do
            $compiler -Wall -Wno-unused -Iinclude -Iemulator/include -fsyntax-only "$folder/block.c" || {
                echo "check_blocks: a block of $page does not compile as it stands behind $compiler" >&2
                exit 1
            }
        done
        rm "$folder/block.c"
        count=$((count + 1))
    done
done
echo "check_blocks: $count blocks of C compile"
