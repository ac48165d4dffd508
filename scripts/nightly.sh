#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh [PART ...]: run the tests that take too long for .ci/run. Parts: compilers, clients, fuzz, builds, roots; by default all.
# Installs missing packages, for which it uses the network. A part that fails stops no other; the log ends with a line for each.
#
#     compilers   the tests of kernels, counts, packs and the emulator with each release of NVRTC that docs/compilers.md names as run
#     clients     other people's clients of the driver API on the emulator (tests/emulator/clients/run.sh)
#     fuzz        every fuzzer for FUZZ_SECONDS (300)
#     builds      scripts/check_builds.sh
#     roots       scripts/try_fresh_root.sh for ROOTS ("bookworm trixie jammy noble"); needs root
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

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
    cmake --build --preset dev --target tilejit_emulator
    tests/emulator/clients/run.sh build/dev
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

need_build_tools
results=() status=0
for part in ${*:-compilers clients fuzz builds roots}; do
    case $part in
        compilers | clients | fuzz | builds | roots) ;;
        *) echo "nightly: no part is called $part" >&2; exit 2 ;;
    esac
    say "$part"
    "$part" & # in a process of its own, which ends at the first failure
    if wait $!; then results+=("$part: passed"); else results+=("$part: FAILED") status=1; fi
done
say "nightly"
printf '%s\n' "${results[@]}"
exit $status
