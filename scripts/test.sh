#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install the packages that the tests need, build, and run all tests. Without a GPU, GPU tests report that they were skipped.
# NARROW_PATH="PACKAGE ...": the tests find the programs of these packages, and of those that scripts/common.sh declares, and no others.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/common.sh

need_build_tools
need_packages "${test_tools[@]}"
private_python "${test_modules[@]}" "${more_modules[@]}" || private_python "${test_modules[@]}"
"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || need_packages /nonexistent:python3-dev
export TILEJIT_REQUIRE_REDIS=1
say "building"
cmake --preset dev -DTILEJIT_PYTHON="$python" >/dev/null
cmake --build --preset dev
need_nvrtc "$PWD/build/dev/tilejit"

say "testing"
[ -z "${NARROW_PATH:-}" ] || narrow_path "$PWD/build/path" $NARROW_PATH || true
ctest --preset dev "$@"
