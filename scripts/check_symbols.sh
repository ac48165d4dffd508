#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: quick
# check_symbols.sh LIBRARY: it exports tj_* and nothing else, and imports nothing from libcuda or libnvrtc.
set -euo pipefail
exported=$(nm -D --defined-only "$1" | awk '{ print $NF }')
count=$(printf '%s\n' "$exported" | grep -c '^tj_' || true)
foreign=$(printf '%s\n' "$exported" | grep -v '^tj_' || true)
linked=$(nm -D --undefined-only "$1" | awk '{ print $NF }' | grep -E '^(cu[A-Z]|nvrtc)' || true)
[ -z "$foreign" ] || { echo "exported, and not ours: $foreign" >&2; exit 1; }
[ -z "$linked" ] || { echo "linked against CUDA: $linked" >&2; exit 1; }
[ "$count" -ge 50 ] || { echo "only $count tj_ symbols are exported" >&2; exit 1; }
echo "check_symbols: $count tj_ symbols and no other"
