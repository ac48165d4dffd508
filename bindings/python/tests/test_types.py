# SPDX-License-Identifier: Apache-2.0
"""The package's types: mypy accepts the package, and of a caller it accepts what is right and refuses what is wrong."""

import os
import pathlib
import subprocess
import sys

import pytest
import tilejit

CALLER = """
import numpy, tilejit, typing

class Tensor:
    def __dlpack__(self, *, stream: object = None) -> object: ...

a, t = numpy.ones((2, 2), "f4"), Tensor()
d = tilejit.default_context().to_device(a)
n: numpy.ndarray[typing.Any, typing.Any] = tilejit.matmul(a, a)
n = tilejit.matmul(a, a, a, epilogue=tilejit.Epilogue(alpha=2), dtype="f4")
n = tilejit.matmul_grouped(a, a, [0, 2], epilogue="slope * acc", slope=2)
tilejit.matmul(t, t, epilogue="acc + bias[col]", bias=t, compute="tf32").__dlpack__()
tilejit.matmul(d, d, out=d).numpy()
tilejit.matmul(a, "x")  # wrong
tilejit.matmul(a, a, epilog="relu(acc)")  # wrong
tilejit.matmul(a, a, "out")  # wrong
tilejit.matmul(a, a, bias=a)  # wrong
tilejit.matmul(a, a, epilogue="acc + bias[col]", bias="b")  # wrong
tilejit.matmul(a, a, context=5)  # wrong
tilejit.matmul(a, a).free()  # wrong
tilejit.matmul_grouped(a, a)  # wrong
tilejit.Problem(1, 2, 3, any=5)  # wrong
"""


def test_mypy(tmp_path):
    pytest.importorskip("mypy")  # scripts/test.sh brings it
    caller, package = tmp_path / "caller.py", pathlib.Path(tilejit.__file__).parent
    caller.write_text(CALLER)
    settings = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", package.parent / "mypy_cache", "--no-error-summary", caller, package],
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package.parent)})
    wrong = {number for number, line in enumerate(CALLER.splitlines(), 1) if line.endswith("# wrong")}
    said = {int(line.split(":")[1]) for line in done.stdout.splitlines() if "caller.py" in line and ": error:" in line}
    assert said == wrong and "tilejit/" not in done.stdout.replace(str(caller), ""), done.stdout + done.stderr
