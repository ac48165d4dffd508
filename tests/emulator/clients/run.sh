#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [CLIENT ...]: other people's clients of the driver API on the emulator of a build folder, each in a virtual environment of
# its own with what pip brings. A client that cannot be installed is skipped, with the reason. Needs the network, and for Numba a toolkit.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../.."
. scripts/common.sh

# NAME: file, and what to install
declare -A clients=(
    [cuda-bindings]="cuda_bindings.py cuda-bindings numpy nvidia-cuda-nvrtc"
    [cuda-core]="cuda_core.py cuda-core cuda-bindings numpy nvidia-cuda-nvrtc"
    [pycuda]="py_cuda.py pycuda numpy"
    [numba]="numba_jit.py numba==0.61.2 nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12"
    [numba-cuda]="numba_jit.py numba-cuda[cu13]"
    [cupy]="cupy_runtime.py cupy-cuda13x"
)

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
ln -s "$build/libcuda_emulator.so" "$here/libcuda.so.1"
failed=()
for name in ${*:2}; do [ -n "${clients[$name]:-}" ] || { echo "no client is called $name: ${!clients[*]}" >&2; exit 2; }; done
for name in ${*:-x}; do :; done
for name in $(printf '%s\n' "${@:2}"); do
    read -r file packages <<<"${clients[$name]}"
done
