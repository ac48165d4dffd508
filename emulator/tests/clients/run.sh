#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [CLIENT ...]: other people's clients of the driver API on the emulator of a build folder, each in a virtual environment of
# its own with what pip brings. What cannot be installed or found is skipped, with the reason. Needs the network, and for Numba the
# toolkit of CUDA_HOME (/usr/local/cuda).
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
say() { printf '\n== %s\n' "$*"; }
home=${XDG_DATA_HOME:-$HOME/.local/share}/cuda_emulator

# NAME: a file, and what to install for it
declare -A clients=(
    [cuda-bindings]="cuda_bindings.py cuda-bindings nvidia-cuda-nvrtc numpy"
    [cuda-core]="cuda_core.py cuda-core cuda-bindings nvidia-cuda-nvrtc numpy"
    [pycuda]="py_cuda.py pycuda numpy"
    [numba]="numba_jit.py numba==0.61.2"
    [cupy]="cupy_runtime.py cupy-cuda13x"
)
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || names=(cuda-bindings cuda-core pycuda numba cupy)

export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda} NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS=0 PYTHONWARNINGS=ignore
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
ln -s "$build/libcuda_emulator.so" "$here/libcuda.so.1"
python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "install python3-venv first" >&2; exit 1; }
results=() status=0
for name in "${names[@]}"; do
    [ -n "${clients[$name]:-}" ] || { echo "no client is called $name: ${!clients[*]}" >&2; exit 2; }
    read -r file packages <<<"${clients[$name]}"
    python=$home/clients/$name/bin/python
    say "$name"
    [ -x "$python" ] || python3 -m venv "$home/clients/$name"
    if ! "$python" -m pip install --quiet --disable-pip-version-check $packages; then
        results+=("$name: skipped, pip cannot install $packages")
        continue
    fi
    code=0
    LD_LIBRARY_PATH=$here:$CUDA_HOME/lib64 timeout 600 "$python" "$file" || code=$?
    case $code in
        0) results+=("$name: passed") ;;
        77) results+=("$name: skipped") ;;
        *) results+=("$name: FAILED ($code)") status=1 ;;
    esac
done
say "clients"
printf '%s\n' "${results[@]}"
exit $status
