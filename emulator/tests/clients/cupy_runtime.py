# SPDX-License-Identifier: Apache-2.0
"""CuPy stands on the CUDA runtime, which does not run on the emulator: it must hear so, in words, and end."""

import subprocess
import sys

from client import need

need("cupy")
run = subprocess.run(
    [sys.executable, "-c", "import cupy; cupy.arange(3).sum()"], capture_output=True, text=True, timeout=300, check=False
)
assert run.returncode == 1, (run.returncode, run.stderr)
assert "CUDARuntimeError" in run.stderr, run.stderr
assert "works with NVIDIA's own driver alone" in run.stderr, run.stderr
print("CuPy: refused in words")
