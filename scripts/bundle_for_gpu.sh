#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collect what a GPU machine needs to prove a build, which need not have a compiler or any -dev package: the command, the GPU tests, the
# bench programs and their libraries, in build/gpu-bundle. Run run.sh in it over there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_build_tools
cmake --preset release -DTILEJIT_GPU_TESTS=ON >/dev/null
cmake --build --preset release
bundle=build/gpu-bundle
rm -rf "$bundle"
mkdir -p "$bundle"
cp build/release/tilejit build/release/bench_* build/release/examples_* build/release/tests/gpu_* build/release/tests/stress_* "$bundle"
cp -L build/release/libtilejit.so.0 "$bundle"
ldd "$bundle/tilejit" | awk '/libjansson|libxxhash/ { print $3 }' | xargs -I{} cp -L {} "$bundle"
cp tests/gpu/*.py "$bundle"
cat >"$bundle/run.sh" <<'RUN'
#!/usr/bin/env bash
# Run every GPU test here; the last line counts programs.
cd "$(dirname "$0")"
export LD_LIBRARY_PATH=$PWD${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TILEJIT_REQUIRE_GPU=1
passed=0 failed=0
for program in ./gpu_*; do
    timeout 240 "$program" && passed=$((passed + 1)) || { echo "FAILED: $program: exit $?"; failed=$((failed + 1)); }
done
if python3 -c 'import numpy' 2>/dev/null; then
    timeout 240 python3 matmul_with_numpy.py ./tilejit && passed=$((passed + 1)) || failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
RUN
chmod +x "$bundle/run.sh"
echo "bundled: $(du -sh "$bundle" | cut -f1) in $bundle"
