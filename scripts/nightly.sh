#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh [PART ...]: run what takes too long for .ci/run; by default all parts, one after the other. Installs missing packages, for
# which it uses the network. A part that fails stops no other; the log ends with a line and the minutes of each.
#
#     tests       all tests of the tier nightly: every seed, layout and case (tests/tiers.cmake)
#     asan, tsan  these under sanitizers
#     tidy        clang-tidy, whose analyzer follows every call
#     bytes       the same bytes from two places, optimised as they are shipped
#     compilers   the tests of kernels, counts, packs and the emulator with each release of NVRTC that docs/compilers.md names as run
#     clients     other people's clients of the driver API on the emulator (emulator/tests/clients/run.sh)
#     fuzz        every fuzzer for FUZZ_SECONDS (300)
#     builds      scripts/check_builds.sh
#     roots       scripts/try_fresh_root.sh for ROOTS ("bookworm trixie jammy noble"); needs root
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

# Build a preset, and run its tests on kernels that are compiled once for all parts.
run_preset() {
    need_packages "${test_tools[@]}"
    cmake --preset "$1" "${@:2}" >/dev/null
    cmake --build --preset "$1"
    ctest --preset "$1"
}

tests() {
    private_python "${test_modules[@]}"
    run_preset nightly -DTILEJIT_PYTHON="$python"
}

asan() { run_preset nightly_asan; }

tsan() { run_preset nightly_tsan; }

tidy() {
    need_packages clang:clang clang-tidy:clang-tidy
    cmake --preset clang >/dev/null
    sed '/^ExtraArgs/d' .clang-tidy >build/clang/deep
    tidy_sources --config-file=build/clang/deep
}

bytes() { scripts/check_reproducible.sh; }

compilers() {
    local release folder failed=()
    need_packages "${test_tools[@]}"
    cmake --preset dev >/dev/null
    cmake --build --preset dev
    for release in 12.0.140 12.4.127 12.9.86 13.0.88 13.5.37; do
        grep -q "^| $release |" docs/compilers.md || { echo "docs/compilers.md does not say that $release is run" >&2; return 1; }
        folder=$tilejit_home/nvrtc/$release
        [ -e "$folder" ] || fetch --no-deps --target "$folder" "nvidia-cuda-nvrtc$([[ $release == 13.* ]] || echo -cu12)==$release"
        say "NVRTC $release"
        TILEJIT_NVRTC=$(compgen -G "$folder/nvidia/*/lib/libnvrtc.so.*") TILEJIT_REQUIRE_NVRTC=1 \
            ctest --preset dev -R '^(compile|emulator)/|^analysis/counts$|^cli/pack$' || failed+=("$release")
    done
    [ ${#failed[@]} -eq 0 ] || { echo "tests failed with NVRTC ${failed[*]}" >&2; return 1; }
}

clients() {
    cmake --preset dev >/dev/null
    cmake --build --preset dev --target cuda_emulator
    emulator/tests/clients/run.sh build/dev
}

fuzz() {
    need_packages clang:clang '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a:libclang-rt-dev'
    cmake --preset fuzz -B build/nightly_fuzz -DTILEJIT_FUZZ_SECONDS="${FUZZ_SECONDS:-300}" >/dev/null
    cmake --build build/nightly_fuzz --target fuzzers
    ctest --test-dir build/nightly_fuzz -L fuzz -j "$(nproc)" --output-on-failure
}

builds() { scripts/check_builds.sh; }

roots() {
    local suite
    for suite in ${ROOTS:-bookworm trixie jammy noble}; do scripts/try_fresh_root.sh "$suite"; done
}

all=(tests asan tsan tidy bytes compilers clients fuzz builds roots)
[ $# -gt 0 ] || set -- "${all[@]}"
for part; do
    [[ " ${all[*]} " == *" $part "* ]] || { echo "nightly: no part is called $part: say ${all[*]}" >&2; exit 2; }
done
need_build_tools
export TILEJIT_REQUIRE_REDIS=1
cmake --preset dev >/dev/null
cmake --build --preset dev --target tilejit_cli
need_nvrtc "$PWD/build/dev/tilejit"
keep_kernels build/dev/tilejit
results=() status=0
for part; do
    say "$part"
    began=$SECONDS
    "$part" & # in a process of its own, which ends at the first failure
    if wait $!; then result=passed; else result=FAILED status=1; fi
    results+=("$part: $result in $(((SECONDS - began + 59) / 60)) min")
done
say "nightly"
printf '%s\n' "${results[@]}"
exit $status
