#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tier: change; cost: 5
# prove_my_gpu.sh BUILD_FOLDER: scripts/prove_my_gpu.sh on the emulator, which has no times: the report says what was proven and which
# device it was, and nothing of the machine.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "prove_my_gpu: $*" >&2; exit 1; }

if ! "$build/tilejit" compile 64x64x64 --no-cache -o "$work/kernel.ptx" >"$work/output" 2>&1; then
    [ -z "${TILEJIT_REQUIRE_NVRTC:-}" ] || fail "$(cat "$work/output")"
    echo "SKIPPED, not tested: $(cat "$work/output")"
    exit 0
fi
cat >"$work/shapes.csv" <<END
category,j,k,l,dtype,p-dtype,layout-n,scale-m,scale-n
f32,64,64,64,f32,,,,
mxfp8,32,256,48,e4m3,bf16,col,e8m0:1x32:row-by-row,e8m0:1x32:row-by-row
END
export TILEJIT_EMULATOR=$build/libcuda_emulator.so
scripts/prove_my_gpu.sh -o "$work/report.json" --device emulator:sm_120 --shapes "$work/shapes.csv" "$build" >"$work/output" 2>&1 ||
    fail "$(cat "$work/output")"
python3 - "$work/report.json" "$HOME" "$(hostname)" "$build" <<'END' || fail "$(cat "$work/report.json")"
import json, sys
text = open(sys.argv[1]).read()
report = json.loads(text)
assert report["device"]["name"].startswith("CUDA emulator sm_120") and report["device"]["cc_major"] == 12
assert [proof["passed"] for proof in report["proofs"]] == [True, True]
assert "scales=instruction" in report["proofs"][1]["config"]
assert [row["zero_shot"]["state"] for row in report["times"]] == ["ok", "ok"]
assert "uuid" not in text and "/" not in text, "a path or a serial number"
assert not any(word in text for word in sys.argv[2:] if len(word) > 3), "a name of this machine"
END

# A step that fails is named, and the report is written nevertheless.
code=0
TILEJIT_NVRTC=/nowhere/libnvrtc.so scripts/prove_my_gpu.sh -o "$work/failed.json" --device emulator:sm_120 --shapes "$work/shapes.csv" "$build" \
    >"$work/output" 2>&1 || code=$?
[ $code -eq 1 ] && grep -q 'failed: .*prove' "$work/output" && grep -q '"exit": 1' "$work/failed.json" || fail "$code: $(cat "$work/output")"
code=0
scripts/prove_my_gpu.sh "$work" >"$work/output" 2>&1 || code=$?
[ $code -eq 2 ] && grep -q 'has no program tilejit' "$work/output" || fail "$code: $(cat "$work/output")"
