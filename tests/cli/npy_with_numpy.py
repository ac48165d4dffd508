#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Round trips of .npy files with NumPy itself.

    npy_with_numpy.py make FOLDER     write NAME.npy, as many ways as NumPy has, and list.txt: "NAME type rank fortran shape..."
    npy_with_numpy.py compare FOLDER  NAME.copy.npy, written by the C code, is what numpy.save writes, byte for byte

Exit 77: there is no NumPy. bfloat16 and floats of 8 bits come from ml_dtypes where that is installed.
"""
import io
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit(77)
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

TYPES = {"f32": np.dtype("<f4"), "f64": np.dtype("<f8"), "f16": np.dtype("<f2"),
         "s8": np.dtype("|i1"), "u8": np.dtype("|u1"), "s32": np.dtype("<i4")}
ML_TYPES = {}  # NumPy does not load their files as what they are, and those of float8_e5m2 not at all
if ml_dtypes:
    ML_TYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
                "e5m2": np.dtype(ml_dtypes.float8_e5m2)}
    TYPES |= ML_TYPES
SHAPES = [(1, 1), (2, 3), (7, 1), (1, 9), (31, 17), (0, 4), (4, 0), (1, 1, 1), (3, 2, 5), (2, 0, 3), (1234567, 1), (1, 100000)]


def cases():
    """Each as (name, type's name, array, bytes of the file to read)."""
    for type_name, dtype in TYPES.items():
        for shape in SHAPES:
            count = int(np.prod(shape))
            bits = np.random.default_rng(count + len(shape)).integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
            values = bits.view(dtype).reshape(shape)  # every bit pattern, NaN payloads too
            for order in "CF" if len(shape) == 2 else "C":
                array = np.array(values, order=order)
                for version in [(1, 0), (2, 0), (3, 0)]:
                    file = io.BytesIO()
                    np.lib.format.write_array(file, array, version=version)
                    yield f"{type_name}-{'x'.join(map(str, shape))}-{order}-v{version[0]}", type_name, array, file.getvalue()
                if type_name not in ML_TYPES and dtype.itemsize > 1:
                    file = io.BytesIO()
                    np.save(file, array.byteswap().view(array.dtype.newbyteorder(">")))
                    yield f"{type_name}-{'x'.join(map(str, shape))}-{order}-big", type_name, array, file.getvalue()


def make(folder):
    lines = []
    for name, type_name, array, content in cases():
        (folder / f"{name}.npy").write_bytes(content)
        fortran = int(array.flags.f_contiguous and not array.flags.c_contiguous)
        lines.append(" ".join(map(str, [name, type_name, array.ndim, fortran, *array.shape])))
    (folder / "list.txt").write_text("\n".join(lines) + "\n")


def compare(folder):
    wrong = 0
    for name, type_name, array, _ in cases():
        file = io.BytesIO()
        np.save(file, array)
        written = (folder / f"{name}.copy.npy").read_bytes()
        if type_name == "e5m2":
            wrong += written != file.getvalue()
            continue
        loaded = np.load(folder / f"{name}.copy.npy")
        if written != file.getvalue() or loaded.shape != array.shape or loaded.tobytes("A") != array.tobytes("A"):
            print(f"{name}: the copy differs from what numpy.save writes", file=sys.stderr)
            wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
