#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# prove_my_gpu.sh [DIR]: prove, test, measure and tune this library on the GPU of this machine, in 10 minutes, and write what was found
# to tilejit-gpu.json, a file to attach to a report. It holds facts of the device, results and times: no path, no name of a machine or
# user, no serial number (scripts/device_report.py lists the fields).
#
# DIR: a build folder or a bundle (scripts/bundle_for_gpu.sh); default: build/release. Options before it:
#   -o FILE          write to FILE instead
#   --device WHICH   a device by its number, as for tilejit; default: the first
#   --shapes FILE    other products than the 40 of bench/shapes/device.csv
# Exits with 1 if anything failed. Needs an NVRTC, python3, and for the comparison a cuBLAS.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
output=tilejit-gpu.json device=0 shapes=
while [ $# -gt 1 ]; do
    case $1 in
        -o) output=$2 ;;
        --device) device=$2 ;;
        --shapes) shapes=$2 ;;
        *) break ;;
    esac
    shift 2
done
directory=$(cd "${1:-$here/../build/release}" 2>/dev/null && pwd) && [ -x "$directory/tilejit" ] || {
    echo "prove_my_gpu: ${1:-build/release} has no program tilejit: name a build folder, or build one with cmake --preset release" >&2
    exit 2
}
for candidate in "$directory/shapes/device.csv" "$here/../bench/shapes/device.csv"; do
    [ -z "$shapes" ] && [ -f "$candidate" ] && shapes=$candidate
done
[ -f "$shapes" ] || { echo "prove_my_gpu: there is no file of shapes \"$shapes\": name one with --shapes" >&2; exit 2; }

work=$(mktemp -d) || exit 2 # with a store of its own: nothing comes from an earlier run, or remains
trap 'rm -rf "$work"' EXIT
export TILEJIT_CACHE_DIR=$work/store LD_LIBRARY_PATH=$directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[[ $device =~ ^[0-9]+$ ]] && export TILEJIT_DEVICE=$device # of the tests
unset TILEJIT_REMOTE TILEJIT_PACKS TILEJIT_CAPTURE TILEJIT_DUMP
tilejit=$directory/tilejit

# step NAME SECONDS COMMAND...: what it prints goes to NAME.json, and how it ended to NAME.end.
step() {
    local name=$1 seconds=$2 start=$SECONDS code
    shift 2
    echo "prove_my_gpu: $name, at most $seconds s" >&2
    timeout -k 5 "$seconds" "$@" >"$work/$name.json" 2>"$work/$name.log"
    code=$?
    echo "$code $((SECONDS - start))" >"$work/$name.end"
    [ $code -eq 0 ] || { echo "prove_my_gpu: $name ended with $code:" >&2; tail -n 3 "$work/$name.log" >&2; }
}

step devices 30 "$tilejit" devices --json --device "$device"
step prove 180 "$tilejit" prove --shapes "$shapes" --cases "$work/cases" --json --device "$device"
if [[ $device =~ ^[0-9]+$ ]]; then # the emulator has no times
    step measure 30 "$tilejit" devices --measure --json --device "$device"
    for test in gpu_launching gpu_rounding gpu_fallback gpu_reductions gpu_products; do
        for program in "$directory/$test" "$directory/tests/$test"; do
            arguments=()
            [ $test = gpu_products ] && arguments=(40 1)
            [ -x "$program" ] && step "$test" 60 env TILEJIT_REQUIRE_GPU=1 "$program" "${arguments[@]}" && break
        done
    done
    step tune 180 "$tilejit" tune --shapes "$shapes" --budget 2s --json --device "$device"
fi
step bench 120 "$tilejit" bench --shapes "$shapes" --cublas --rounds 7 --json --device "$device"

python3 "$here/device_report.py" collect "$work" "$output"
code=$?
[ -f "$output" ] && echo "prove_my_gpu: wrote $output: please read it, and attach it to a report"
exit $code
