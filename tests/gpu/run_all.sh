#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_all.sh DIR: everything that needs a GPU, from a build folder or a bundle (scripts/bundle_for_gpu.sh), the quickest to tell of
# trouble first, in seven to sixteen minutes on 16 cores (twenty are the most). What is drawn, is drawn anew each time; SEED=... repeats
# a run. Prints summaries and failures; the whole output of each program is in DIR/gpu-logs.
set -u
directory=$(cd "${1:?give the build folder or the bundle}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
logs=$directory/gpu-logs
mkdir -p "$logs" || exit 2
store=$(mktemp -d) || exit 2 # not the user's own: nothing may come from an earlier run, or remain
trap 'rm -rf "$store"' EXIT
export LD_LIBRARY_PATH=$directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TILEJIT_CACHE_DIR=$store
export TILEJIT_REQUIRE_GPU=1 TILEJIT_REQUIRE_NVRTC=1
deadline=$((SECONDS + 1200)) passed=0 failed=0
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
echo "run_all: SEED=$seed"

shapes=$directory/shapes
[ -d "$shapes" ] || shapes=$here/../../bench/shapes

# Programs lie in DIR in a bundle, and in DIR/tests in a build folder.
find_program() {
    local candidate
    for candidate in "$directory/$1" "$directory/tests/$1"; do
        [ -x "$candidate" ] && [ ! -d "$candidate" ] && echo "$candidate" && return
    done
    return 1
}

# run NAME SECONDS KEPT PROGRAM ARGUMENT...: KEPT is a pattern of the lines to show, in addition to failures.
run() {
    local name=$1 seconds=$2 kept=$3 left=$((deadline - SECONDS)) start=$SECONDS code
    shift 3
    [ $seconds -gt $left ] && seconds=$left
    if [ $seconds -le 0 ]; then
        code=124
        echo "no time was left" >"$logs/$name.log"
    else
        timeout -k 5 "$seconds" "$@" >"$logs/$name.log" 2>&1
        code=$?
    fi
    if [ $code -eq 0 ]; then
        grep -E "$kept" "$logs/$name.log"
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $name: exit $code after $((SECONDS - start)) s; from $logs/$name.log:"
    { grep -E 'FAILED|SKIPPED' "$logs/$name.log" | head -8; tail -2 "$logs/$name.log"; } | cut -c1-300 | awk '!seen[$0]++'
}

# A failure: a run that tested less than it says must not look like one that passed.
report_missing() {
    failed=$((failed + 1))
    echo "FAILED: $1: not in $directory"
}

run_program() {
    local name=$1 seconds=$2 kept=$3 program
    shift 3
    if program=$(find_program "$name"); then
        run "$name" "$seconds" "$kept" "$program" "$@"
    else
        report_missing "$name"
    fi
}

# Most of a case is compiling it, on one core: eight runs, each with a seed of its own, share the cases.
run_drawn() {
    local name=$1 seconds=$2 kept=$3 cases=$4 program
    if program=$(find_program "$name"); then
        run "$name" "$seconds" "$kept" xargs -P "$(nproc)" -I{} "$program" "$(((cases + 7) / 8))" {} < <(seq "$seed" "$((seed + 7))")
    else
        report_missing "$name"
    fi
}

# On the last device too, where there are several: nothing may take the first for granted.
run_elsewhere() {
    local count=$(nvidia-smi -L 2>/dev/null | wc -l) program
    if [ "$count" -lt 2 ]; then
        echo "SKIPPED: launching on a second device: there is one"
    elif program=$(find_program gpu_launching); then
        run gpu_launching_elsewhere 60 '^gpu/' env TILEJIT_DEVICE=$((count - 1)) "$program"
    fi
}

run_program tilejit 30 '^OK' doctor
run_program gpu_launching 60 '^gpu/'
run_elsewhere
run_program gpu_overlapping 60 '^gpu/'
run_program gpu_share 60 '^gpu/|^share'
run_program gpu_fallback 60 '^gpu/'
run_program gpu_rounding 60 '^gpu/'
run_program gpu_reductions 60 '^gpu/'
run_drawn gpu_grouped 90 '^gpu/' "${GROUPED:-104}"
run_program gpu_f32_split 90 '^gpu/|4096x4096'
run_program gpu_background 90 '^gpu/'
run_program gpu_proving 60 '^gpu/|proof says'
# With fewer than 224 its 28 forms are not all met: each run begins with the first.
run_drawn gpu_epilogues 240 '^gpu/|^largest' "${EPILOGUES:-224}"
run_drawn gpu_products 300 '^gpu/' "${CASES:-800}"
run_drawn gpu_invariant 300 '^gpu/|^invariant' "${ROWS:-5000}"
run_program gpu_invariant 60 '^gpu/' digests
run_program gpu_space 400 '^gpu/' "${PAIRS:-5000}" "$seed"
if space=$(find_program gpu_space); then
    run gpu_space_all 400 '^gpu/' "$space" all 33x40x35 33x17x35x2:f16 17x33x9:f64
else
    report_missing gpu_space_all
fi
bench=(bench --shapes "$shapes/public.csv" --only odd,batched,512x512x512 --rounds 7 --csv "$logs/bench.csv")
run bench 120 '^all|^not tuned' "$directory/tilejit" "${bench[@]}" --cublas
run prove 120 'proven, ' "$directory/tilejit" prove --shapes "$shapes/public.csv" --cases "$logs/cases"
if python3 -c 'import numpy' 2>/dev/null; then
    run matmul_with_numpy 150 '^gpu/' python3 "$here/matmul_with_numpy.py" "$directory/tilejit"
else
    failed=$((failed + 1))
    echo "FAILED: matmul_with_numpy: no numpy for python3"
fi
[ -d "$directory/python/tilejit" ] && export PYTHONPATH=$directory/python${PYTHONPATH:+:$PYTHONPATH}
if ! python3 -c 'import torch' 2>/dev/null; then
    echo "SKIPPED: PyTorch: python3 has no torch"
elif ! without=$(python3 -c 'import tilejit' 2>&1); then
    echo "SKIPPED: PyTorch: no package tilejit (pip install bindings/python): $(tail -n 1 <<<"$without")"
else
    examples=$directory/python/examples
    [ -d "$examples" ] || examples=$here/../../bindings/python/examples
    run arrays_of_torch 120 '^gpu/|^SKIPPED' env TILEJIT_EXAMPLES="$examples" python3 "$here/arrays_of_torch.py"
    run torch_operators 240 '^gpu/|^host' python3 "$here/torch_operators.py"
fi
if ! python3 -c 'import jax.ffi, tilejit' 2>/dev/null; then
    echo "SKIPPED: JAX: python3 has no jax of 0.5 or newer, or no package tilejit (pip install bindings/python)"
else
    export XLA_PYTHON_CLIENT_PREALLOCATE=false
    run jax_products 180 '^gpu/' python3 "$here/jax_products.py"
    run jax_products_in_graphs 180 '^gpu/' env XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUSTOM_CALL python3 "$here/jax_products.py"
fi
run_program stress_cold_start 60 '^round|killed|faults' 2 40
run_program bench_latency 60 '.'
echo "run_all: $passed passed, $failed failed, in $SECONDS s"
[ $failed -eq 0 ]
