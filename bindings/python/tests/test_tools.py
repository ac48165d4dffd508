# SPDX-License-Identifier: Apache-2.0
"""explain, tune, pack, contexts, and arrays of DLPack."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import numpy
import pytest
import tilejit


def test_version():
    from tilejit._binding import lib

    major, minor, patch = (int(word) for word in tilejit.__version__.split("."))
    assert lib.tj_version_number() == 10000 * major + 100 * minor + patch


def test_problem():
    assert str(tilejit.Problem(33, 20, 47)) == "33x20x47 f32 rrr"
    problem = tilejit.Problem(33, 20, 47, "e4m3", n_dtype="e5m2", out_dtype="f16", layouts="rcr", batch=3, alpha=True)
    assert str(problem) == "33x20x47x3 e4m3*e5m2->f16 rcr alpha" and problem.batch == 3 and problem.out_dtype == "f16"
    a, b = numpy.zeros((8, 4), "f4"), numpy.zeros((5, 4), "f4").T
    assert str(tilejit.Problem.of(a, b, compute="tf32")) == "8x4x5 f32 rcr tf32"


def test_explain():
    found = tilejit.explain(tilejit.Problem(512, 300, 700), arch="sm_80")
    assert tilejit.explain(tilejit.Problem(512, 300, 700), target="sm_80") == found
    assert "A100" in found.device and "__global__" in found.source and found.flop == 2 * 512 * 300 * 700 and found.us > 0
    assert found.bound in str(found) and found.config in str(found)
    page = found._repr_html_()
    assert page.count("<table>") == 2 and "blockIdx" in page and "&lt;" in page
    with pytest.raises(tilejit.NotFound, match="sm_1"):
        tilejit.explain(tilejit.Problem(4, 4, 4), arch="sm_1")
    with pytest.raises(TypeError, match="arch is 'sm_80' and target is 'sm_90', which mean the same"):
        tilejit.explain(tilejit.Problem(4, 4, 4), arch="sm_80", target="sm_90")


def test_tune(context):
    seen = []
    found = tilejit.tune(tilejit.Problem(5, 4, 3), evaluations=2, seconds=20, progress=seen.append)
    assert found.is_emulated and not found.has_record and found.evaluations >= 1 and found.config
    assert found.us is None and found.default_us is None and found.speedup is None
    assert seen and seen[-1].evaluations <= found.evaluations

    def stop(progress):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        tilejit.tune(tilejit.Problem(5, 4, 3), seconds=20, progress=stop)


def test_tune_ends_on_ctrl_c():
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])

    def begin(progress):
        if not timer.is_alive() and not timer.finished.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tilejit.tune(tilejit.Problem(6, 4, 3), seconds=60, progress=begin)


def test_pack(tmp_path, random):
    a, b = random(9, 7), random(7, 5)
    path = tmp_path / "app.tjpack"
    content = tilejit.pack([tilejit.Problem.of(a, b)], "compute_90", path)
    assert path.read_bytes() == content == tilejit.pack([tilejit.Problem.of(a, b)], targets=["compute_90"]) == tilejit.pack(
        tilejit.Problem.of(a, b), arch="compute_90")
    with pytest.raises(TypeError, match="pack needs arch"):
        tilejit.pack(tilejit.Problem.of(a, b))
    assert os.listdir(tmp_path) == ["app.tjpack"]
    with tilejit.Context(driver="emulator", nvrtc="/nowhere/libnvrtc.so", packs=[path]) as context:
        assert numpy.array_equal(tilejit.matmul(a, b, context=context), a @ b)
        assert context.stats.pack_hits == 1 and context.stats.compiles == 0
        assert context.pack_hits == {str(path): 1}
    small = tilejit.pack(tilejit.Problem.of(a, b), "sm_90", strip=True, aligned=True, compress=True)
    assert len(small) < len(tilejit.pack(tilejit.Problem.of(a, b), "sm_90")) / 4
    with pytest.raises(tilejit.Error, match="stripped pack leaves out"):
        tilejit.pack(tilejit.Problem.of(a, b), "compute_90", strip=True)
    with pytest.raises(tilejit.Error, match="sm_75"):
        tilejit.pack([tilejit.Problem(4, 4, 4)], "nine")
    with pytest.raises(OSError):
        tilejit.pack([tilejit.Problem(4, 4, 4)], "compute_90", tmp_path / "no" / "app.tjpack")


def test_capture(tmp_path, random):
    path = tmp_path / "shapes.csv"
    with tilejit.Context(driver="emulator", capture=path) as context:
        tilejit.matmul(random(3, 4), random(4, 5), context=context)
    assert "1,3,4,5,,f32" in path.read_text()


def test_host_arrays_of_dlpack(random):
    class Exported:
        """An array that offers DLPack only."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a, b = random(3, 4), random(4, 5)
    assert numpy.array_equal(tilejit.matmul(Exported(a), Exported(b)), a @ b)
    out = numpy.zeros((3, 5), "f4")
    tilejit.matmul(Exported(a), Exported(b), Exported(out))
    assert numpy.array_equal(out, a @ b)


def test_without_a_gpu_a_warning_says_who_computes():
    code = ("import warnings, numpy, tilejit\n"
            "with warnings.catch_warnings(record=True) as said:\n"
            "    warnings.simplefilter('always')\n"
            "    p = tilejit.matmul(numpy.ones((2, 3), 'f4'), numpy.ones((3, 2), 'f4'))\n"
            "assert (p == 3).all() and [w.category for w in said if w.category is tilejit.EmulatorWarning], said\n"
            "assert tilejit.default_context().stats.compiles == 1\n")
    environment = {name: value for name, value in os.environ.items() if name != "TILEJIT_DRIVER"}
    environment["TILEJIT_DEVICE"] = ""
    environment["CUDA_VISIBLE_DEVICES"] = ""
    if tilejit.Context(driver=None).doctor() and _has_gpu(environment):
        pytest.skip("a GPU computes here")
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def _has_gpu(environment):
    code = "import tilejit\ntry:\n    tilejit.default_context().device\nexcept tilejit.Error:\n    raise SystemExit(1)\n"
    return subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_a_quick_first_product_needs_no_nvrtc(tmp_path):
    """Beside the library lies a pack of textbook kernels, as in the wheel, and NVRTC is nowhere."""
    build = pathlib.Path(tilejit.__file__).parents[2]
    library = next(iter(sorted(build.glob("libtilejit.so.*"))), None)
    if library is None:
        pytest.skip("this package is not of a build tree")
    lines = (pathlib.Path(__file__).resolve().parents[3] / "cmake" / "textbook.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join(lines[:2]) + "\n")
    shutil.copy(library, tmp_path / "libtilejit.so.0")
    subprocess.run([build / "tilejit", "pack", "--shapes", tmp_path / "one.csv", "--family", "tiled", "--target", "sm_90", "-o",
                    tmp_path / "textbook.tjpack"], check=True, capture_output=True)
    code = """
import numpy, tilejit
with tilejit.Context(driver="emulator:sm_90", quick=True) as context:
    a, b = context.to_device(numpy.ones((33, 20), "f4")), context.to_device(numpy.full((20, 47), 2, "f4"))
    assert (tilejit.matmul(a, b).numpy() == 40).all()
    assert context.stats.compiles == 0 and context.stats.pack_hits == 1, context.stats
    assert any(finding.topic == "textbook" and "1 kernel for sm_90" in finding.text for finding in context.doctor())
"""
    emulator = os.environ.get("TILEJIT_EMULATOR", str(build / "libcuda_emulator.so"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={
        **os.environ, "LD_LIBRARY_PATH": str(tmp_path), "TILEJIT_NVRTC": "/nonexistent", "TILEJIT_EMULATOR": emulator})
    assert done.returncode == 0, done.stderr
