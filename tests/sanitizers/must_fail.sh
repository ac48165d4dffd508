#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# must_fail.sh PATTERN PROGRAM ...   passes if the program fails and its output holds the pattern.
pattern=$1
shift
if output=$("$@" 2>&1); then
    echo "NOT DETECTED: $* exited with 0"
    exit 1
fi
printf '%s\n' "$output" | grep -q "$pattern" && echo "detected: $pattern" && exit 0
printf 'failed for another reason:\n%s\n' "$output"
exit 1
