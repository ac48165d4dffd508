# SPDX-License-Identifier: Apache-2.0
"""matmul_with_numpy.py TILEJIT: NumPy writes M and N, the command multiplies them on the GPU, NumPy judges P."""
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import ml_dtypes

    BF16 = ml_dtypes.bfloat16
except ImportError:
    BF16 = None

UNIT = {"f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53, "bf16": 2.0**-8}
LEAST = {"f16": 2.0**-24, "f32": 2.0**-149, "f64": 2.0**-1074, "bf16": 2.0**-133}  # smallest subnormal
SHAPES = [(128, 128, 128), (512, 300, 700), (97, 89, 101), (1, 1, 1), (1, 1000, 1), (1, 5, 700), (700, 3, 1), (257, 1, 63)]


def judge(M, N, P, kind):
    k = M.shape[1]
    product = M.astype(np.longdouble) @ N.astype(np.longdouble)
    size = np.abs(M).astype(np.float64) @ np.abs(N).astype(np.float64)
    unit = 2.0**-53 if kind == "f64" else 2.0**-24
    bound = (k + 2) * unit / (1 - (k + 2) * unit) * size + UNIT[kind] * np.abs(product) + np.longdouble(LEAST[kind])
    ratio = np.abs(P.astype(np.longdouble) - product) / bound
    return float(ratio.max()), bool(np.all(ratio <= 1) and np.linalg.norm(product.astype(np.float64)) > 0)


def main():
    tilejit, passed, failed = sys.argv[1], 0, 0
    random = np.random.default_rng(7)
    types = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    if BF16 is not None:
        types["bf16"] = BF16
    with tempfile.TemporaryDirectory() as folder:
        m, n, p = (os.path.join(folder, name + ".npy") for name in "MNP")
        for (j, k, l), kind, (order_m, order_n) in itertools.product(SHAPES, types, itertools.product("CF", "CF")):
            M = np.array(random.uniform(-1, 1, (j, k)).astype(types[kind]), order=order_m)
            N = np.array(random.uniform(-1, 1, (k, l)).astype(types[kind]), order=order_n)
            np.save(m, M)
            np.save(n, N)
            if os.path.exists(p):
                os.remove(p)
            run = subprocess.run([tilejit, "matmul", m, n, "-o", p], capture_output=True, text=True)
            label = f"{j}x{k}x{l} {kind} {order_m}{order_n}"
            if run.returncode != 0:
                failed += 1
                print(f"FAILED: {label}: exit {run.returncode}: {run.stderr.strip()}")
                continue
            P = np.load(p)
            if kind == "bf16":
                P = P.view(BF16)
            ratio, is_good = judge(M, N, P, kind)
            if P.shape != (j, l) or P.dtype != types[kind] or not is_good:
                failed += 1
                print(f"FAILED: {label}: {P.shape} {P.dtype}, error / bound {ratio}")
                continue
            passed += 1
            if order_m + order_n == "CC":
                print(f"{label:24} error / bound {ratio:.3f}")
    print(f"gpu/matmul_with_numpy: {passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


sys.exit(main())
